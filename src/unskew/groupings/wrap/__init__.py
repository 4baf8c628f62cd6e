"""Wrap: shuffle's balance at key grouping's memory; unskew's own scheme."""

from unskew.groupings.wrap.wrap import Wrap

__all__ = ["Wrap"]
