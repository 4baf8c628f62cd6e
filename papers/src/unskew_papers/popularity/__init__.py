"""PStream (Chen, Zhang, Jin): popularity grouping, its predictor and its adaptive threshold."""

from unskew_papers.popularity.adaptive import ADAPTIVE_FIGURES
from unskew_papers.popularity.adaptive_on_spark import ADAPTIVE_ON_SPARK
from unskew_papers.popularity.application_figures import APPLICATION_FIGURES
from unskew_papers.popularity.applications_on_spark import APPLICATIONS_ON_SPARK
from unskew_papers.popularity.bounds import TABLE_1, TABLE_2
from unskew_papers.popularity.costs import FIGURE_9, FIGURE_10, FIGURE_11
from unskew_papers.popularity.highest_throughput import FIGURE_33
from unskew_papers.popularity.latencies import FIGURE_14
from unskew_papers.popularity.on_spark import FIGURE_15_ON_SPARK
from unskew_papers.popularity.parallelism import FIGURE_13, FIGURE_15
from unskew_papers.popularity.predictor import FIGURE_34, FIGURE_35, FIGURE_36
from unskew_papers.popularity.workers_on_spark import (
    FIGURE_13_ON_SPARK,
    FIGURE_14_ON_SPARK,
    FIGURE_33_ON_SPARK,
)

EXPERIMENTS = (
    TABLE_1,
    TABLE_2,
    FIGURE_9,
    FIGURE_10,
    FIGURE_11,
    FIGURE_13,
    FIGURE_13_ON_SPARK,
    FIGURE_14,
    FIGURE_14_ON_SPARK,
    FIGURE_15,
    FIGURE_15_ON_SPARK,
    *APPLICATION_FIGURES,
    *APPLICATIONS_ON_SPARK,
    *ADAPTIVE_FIGURES,
    *ADAPTIVE_ON_SPARK,
    FIGURE_33,
    FIGURE_33_ON_SPARK,
    FIGURE_34,
    FIGURE_35,
    FIGURE_36,
)
