"""Code that runs inside Spark's Python workers; it imports nothing of the driver's."""
