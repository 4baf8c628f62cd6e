"""The means by which experiments are run: simulated loads, queues, jobs and streams of Spark."""
