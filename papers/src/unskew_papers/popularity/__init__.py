"""PStream (Chen, Zhang, Jin): popularity grouping, its predictor and its adaptive threshold."""

from unskew_papers.experiment import declared
from unskew_papers.popularity.adaptive import ADAPTIVE_FIGURES
from unskew_papers.popularity.applications import APPLICATION_FIGURES
from unskew_papers.popularity.bounds import FIGURE_9, FIGURE_10, FIGURE_11, TABLE_1, TABLE_2
from unskew_papers.popularity.motivation import (
    FIGURE_2A,
    FIGURE_2B,
    FIGURE_3,
    FIGURE_4,
    FIGURE_5,
    FIGURE_6,
)
from unskew_papers.popularity.predictor import FIGURE_34, FIGURE_35, FIGURE_36
from unskew_papers.popularity.skew import FIGURE_15
from unskew_papers.popularity.synopsis import THEOREM_3, THEOREM_4
from unskew_papers.popularity.workers import FIGURE_13, FIGURE_14, FIGURE_33

EXPERIMENTS = declared(
    "popularity",
    [
        TABLE_1,
        TABLE_2,
        THEOREM_3,
        THEOREM_4,
        FIGURE_9,
        FIGURE_10,
        FIGURE_11,
        FIGURE_13,
        FIGURE_2A,
        FIGURE_3,
        FIGURE_4,
        FIGURE_14,
        FIGURE_15,
        FIGURE_2B,
        FIGURE_5,
        FIGURE_6,
        *APPLICATION_FIGURES,
        *ADAPTIVE_FIGURES,
        FIGURE_33,
        FIGURE_34,
        FIGURE_35,
        FIGURE_36,
    ],
)
