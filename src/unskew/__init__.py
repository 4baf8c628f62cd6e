"""Take the skew out of Spark jobs: groupings that make the tasks finish together."""

__version__ = "0.1.0"
