"""The tables and figures of five papers: what was run, what came out, which claims hold."""

__version__ = "0.2.0.dev0"
