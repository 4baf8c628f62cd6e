"""Which Spark task this is; runs inside Spark's Python workers."""


def partition_number() -> int:
    """Return the number of the partition that this task works on, 0 outside of a task.

    >>> partition_number()
    0
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())
