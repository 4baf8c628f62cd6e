"""Partial key grouping (Nasir et al. 2015): balance in simulation, throughput on an engine."""

from unskew_papers.partial_key.choices import FIGURE_9
from unskew_papers.partial_key.data_sets import TABLE_1
from unskew_papers.partial_key.latency import TABLE_3
from unskew_papers.partial_key.local_loads import FIGURE_4, FIGURE_6
from unskew_papers.partial_key.memory import FIGURE_10B, FIGURE_10C
from unskew_papers.partial_key.periods_on_spark import (
    FIGURE_10B_ON_SPARK,
    FIGURE_10C_ON_SPARK,
    TABLE_3_ON_SPARK,
)
from unskew_papers.partial_key.skew import FIGURE_7
from unskew_papers.partial_key.skewed_sources import FIGURE_8
from unskew_papers.partial_key.splitting import TABLE_2
from unskew_papers.partial_key.through_time import FIGURE_5
from unskew_papers.partial_key.throughput import FIGURE_10A

EXPERIMENTS = (
    TABLE_1,
    TABLE_2,
    FIGURE_4,
    FIGURE_5,
    FIGURE_6,
    FIGURE_7,
    FIGURE_8,
    FIGURE_9,
    FIGURE_10A,
    FIGURE_10B,
    FIGURE_10B_ON_SPARK,
    FIGURE_10C,
    FIGURE_10C_ON_SPARK,
    TABLE_3,
    TABLE_3_ON_SPARK,
)
