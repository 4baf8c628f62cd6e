"""Proactive online shuffle grouping (Rivetti et al. 2016): rows that do not cost the same."""

from unskew_papers.proactive_shuffle.change_on_spark import FIGURE_11_ON_SPARK
from unskew_papers.proactive_shuffle.mentions import FIGURE_12
from unskew_papers.proactive_shuffle.on_spark import FIGURE_12_ON_SPARK
from unskew_papers.proactive_shuffle.streams import FIGURE_4, FIGURE_5, FIGURE_6, FIGURE_7
from unskew_papers.proactive_shuffle.theorem import THEOREM
from unskew_papers.proactive_shuffle.time_series import FIGURE_10, FIGURE_11
from unskew_papers.proactive_shuffle.workers import FIGURE_8, FIGURE_9

EXPERIMENTS = (
    THEOREM,
    FIGURE_4,
    FIGURE_5,
    FIGURE_6,
    FIGURE_7,
    FIGURE_8,
    FIGURE_9,
    FIGURE_10,
    FIGURE_11,
    FIGURE_11_ON_SPARK,
    FIGURE_12,
    FIGURE_12_ON_SPARK,
)
