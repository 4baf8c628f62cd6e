"""What experiments run on: simulated loads, queues, jobs and streams of Spark."""
