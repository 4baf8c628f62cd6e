"""PStream (Chen, Zhang, Jin): popularity grouping, its predictor and its adaptive threshold."""

from unskew.experiments.paper_002.adaptive import ADAPTIVE_FIGURES
from unskew.experiments.paper_002.adaptive_on_spark import ADAPTIVE_ON_SPARK
from unskew.experiments.paper_002.application_figures import APPLICATION_FIGURES
from unskew.experiments.paper_002.applications_on_spark import APPLICATIONS_ON_SPARK
from unskew.experiments.paper_002.bounds import TABLE_1, TABLE_2
from unskew.experiments.paper_002.costs import FIGURE_9, FIGURE_10, FIGURE_11
from unskew.experiments.paper_002.highest_throughput import FIGURE_33
from unskew.experiments.paper_002.latencies import FIGURE_14
from unskew.experiments.paper_002.on_spark import FIGURE_15_ON_SPARK
from unskew.experiments.paper_002.parallelism import FIGURE_13, FIGURE_15
from unskew.experiments.paper_002.predictor import FIGURE_34, FIGURE_35, FIGURE_36
from unskew.experiments.paper_002.workers_on_spark import (
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
