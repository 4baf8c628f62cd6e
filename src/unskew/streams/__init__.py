"""Seeded workloads and readers of recorded streams."""

from unskew.streams.base import Batch, Stream
from unskew.streams.costs import with_costs
from unskew.streams.countries import countries, countries_half
from unskew.streams.drift import drift
from unskew.streams.in_memory import from_keys
from unskew.streams.lognormal import lognormal
from unskew.streams.recorded import file
from unskew.streams.registry import STREAMS, parse_stream
from unskew.streams.uniform import uniform
from unskew.streams.zipf import zipf

__all__ = [
    "STREAMS",
    "Batch",
    "Stream",
    "countries",
    "countries_half",
    "drift",
    "file",
    "from_keys",
    "lognormal",
    "parse_stream",
    "uniform",
    "with_costs",
    "zipf",
]
