"""Partial key grouping (Nasir et al. 2015): balance in simulation, throughput on an engine."""

from unskew.experiments.paper_003.skew import FIGURE_7

EXPERIMENTS = (FIGURE_7,)
