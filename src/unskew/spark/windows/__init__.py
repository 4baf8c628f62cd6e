"""Windows over keys that are cut: where the cuts are, and what is carried over them."""
