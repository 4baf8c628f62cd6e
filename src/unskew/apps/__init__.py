"""Example applications as pipelines on `unskew.spark`, each with its plain Spark job."""
