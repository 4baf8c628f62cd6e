"""Small summaries of large streams: one a file; update, estimate, merge."""
