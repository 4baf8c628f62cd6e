"""Dynamic key grouping: as many workers for a key as its load asks for."""

from unskew.groupings.dynamic_key.dynamic_key import DynamicKey

__all__ = ["DynamicKey"]
