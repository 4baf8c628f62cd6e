"""Plans on disk: saved ones, and the one that a running query follows."""
