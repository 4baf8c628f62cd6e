"""Costs: what rows take, measured, and placement by it."""
