"""Dynamic key grouping (Dalabasmaz and Can): one key with most of the rows."""

from unskew_papers.dynamic_key.data_sets import TABLE_2
from unskew_papers.dynamic_key.on_spark import FIGURE_10_ON_SPARK, FIGURE_11_ON_SPARK
from unskew_papers.dynamic_key.real_sets import FIGURE_9, TABLE_3
from unskew_papers.dynamic_key.scaling import FIGURE_12, FIGURE_13
from unskew_papers.dynamic_key.sets_on_spark import (
    FIGURE_9_ON_SPARK,
    FIGURE_12_ON_SPARK,
    FIGURE_13_ON_SPARK,
    TABLE_3_ON_SPARK,
)
from unskew_papers.dynamic_key.skewness import FIGURE_10, FIGURE_11
from unskew_papers.dynamic_key.thresholds import TABLE_1

EXPERIMENTS = (
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_3_ON_SPARK,
    FIGURE_9,
    FIGURE_9_ON_SPARK,
    FIGURE_10,
    FIGURE_11,
    FIGURE_11_ON_SPARK,
    FIGURE_10_ON_SPARK,
    FIGURE_12,
    FIGURE_12_ON_SPARK,
    FIGURE_13,
    FIGURE_13_ON_SPARK,
)
