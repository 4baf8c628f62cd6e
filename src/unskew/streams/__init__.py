"""Seeded workloads and readers of recorded streams."""
