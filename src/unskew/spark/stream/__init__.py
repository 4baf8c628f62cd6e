"""Streams: the query, its counters, the loop on the driver that learns from them."""
