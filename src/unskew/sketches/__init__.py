"""Small summaries of large streams: one per file; update, estimate, merge."""
