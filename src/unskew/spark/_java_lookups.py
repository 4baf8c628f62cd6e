"""Spare the driver a search through all of Spark's jars at every end of a Java collection."""

from pyspark import SparkContext


def look_up_once() -> None:
    """Keep the Java class that PySpark asks of which kind an exception is.

    PySpark reads a Java collection until that raises, and then compares what was raised with
    fourteen kinds of exceptions. Each time it asks for ``py4j`` and ``py4j.reflection`` anew. These
    are packages, so the JVM searches all jars in vain for classes of these names. The report of a
    micro-batch to a listener in Python has six collections: over 160 searches of 280 jars.

    What is found holds for the life of the JVM. On Spark Connect there is none in this process.
    """
    jvm = SparkContext._jvm
    if jvm is None or "py4j" in vars(jvm):
        return
    package = jvm.py4j
    package.reflection = package.reflection
    package.reflection.TypeUtil = package.reflection.TypeUtil
    jvm.py4j = package
