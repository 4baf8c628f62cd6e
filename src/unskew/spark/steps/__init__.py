"""Python steps from the driver's side: built, sent to the tasks, their reports read."""
