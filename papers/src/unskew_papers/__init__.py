"""The tables and figures of five papers: what was run, what came out, which claims hold."""
