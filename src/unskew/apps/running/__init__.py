"""Run an application over a source into a sink, under one grouping after another."""
