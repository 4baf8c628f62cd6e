"""Partial key grouping (Nasir et al. 2015): balance in simulation, throughput on an engine."""

from unskew_papers.experiment import declared
from unskew_papers.partial_key.analysis import AGREEMENT, SECTION_5
from unskew_papers.partial_key.data_sets import TABLE_1
from unskew_papers.partial_key.local_loads import FIGURE_4, FIGURE_5, FIGURE_6, TABLE_2
from unskew_papers.partial_key.skew import FIGURE_7, FIGURE_8, FIGURE_9
from unskew_papers.partial_key.throughput import (
    FIGURE_10A,
    FIGURE_10A_MEMORY,
    FIGURE_10B,
    FIGURE_10C,
    TABLE_3,
)

EXPERIMENTS = declared(
    "partial-key",
    [
        SECTION_5,
        TABLE_1,
        TABLE_2,
        FIGURE_4,
        FIGURE_5,
        AGREEMENT,
        FIGURE_6,
        FIGURE_7,
        FIGURE_8,
        FIGURE_9,
        FIGURE_10A,
        FIGURE_10A_MEMORY,
        FIGURE_10B,
        FIGURE_10C,
        TABLE_3,
    ],
)
