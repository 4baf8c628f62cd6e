"""What `unskew.spark.join` stands on: learning two sides, planning by work, placing and copying."""
