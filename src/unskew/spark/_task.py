"""Which Spark task this is; runs inside Spark's Python workers."""


def partition_number() -> int:
    """Return the number of the partition that this task works on, 0 outside of a task.

    It is the number of the worker, but where a union puts other partitions before those of the
    workers: take it modulo the number of workers. Then all are counted, each under a number of its
    own, only not always the one that the plan has for it.

    >>> partition_number()
    0
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())
