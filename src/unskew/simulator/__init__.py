"""Sources, a grouping and workers without a cluster: loads, memory, queueing."""
