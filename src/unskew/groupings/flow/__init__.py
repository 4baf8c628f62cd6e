"""Flow: keys stay where they are until their worker is full; the hottest make way first."""

from unskew.groupings.flow.flow import Flow

__all__ = ["Flow"]
