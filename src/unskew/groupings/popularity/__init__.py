"""Popularity grouping: hot keys go round-robin over all workers, rare keys are hashed."""

from unskew.groupings.popularity.counted import CountedPopularity
from unskew.groupings.popularity.popularity import Popularity

__all__ = ["CountedPopularity", "Popularity"]
