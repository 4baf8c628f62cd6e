"""Dynamic key grouping (Dalabasmaz and Can): one key with most of the rows."""

from unskew_papers.dynamic_key.real_sets import FIGURE_9, TABLE_3
from unskew_papers.dynamic_key.scaling import FIGURE_12, FIGURE_13
from unskew_papers.dynamic_key.skewness import FIGURE_10, FIGURE_11
from unskew_papers.dynamic_key.tables import TABLE_1, TABLE_2
from unskew_papers.experiment import declared

EXPERIMENTS = declared(
    "dynamic-key",
    [TABLE_1, TABLE_2, TABLE_3, FIGURE_9, FIGURE_10, FIGURE_11, FIGURE_12, FIGURE_13],
)
