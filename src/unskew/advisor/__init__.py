"""Profile keys, predict what each grouping would do with them, recommend one."""
