"""Proactive online shuffle grouping (Rivetti et al. 2016): rows that do not cost the same."""

from unskew_papers.experiment import declared
from unskew_papers.proactive_shuffle.mentions import FIGURE_12
from unskew_papers.proactive_shuffle.speeds import FIGURE_10, FIGURE_11
from unskew_papers.proactive_shuffle.sweep import (
    FIGURE_4,
    FIGURE_5,
    FIGURE_6,
    FIGURE_7,
    FIGURE_8,
    FIGURE_9,
)
from unskew_papers.proactive_shuffle.theorem import THEOREM

EXPERIMENTS = declared(
    "proactive-shuffle",
    [
        THEOREM,
        *FIGURE_4,
        *FIGURE_5,
        *FIGURE_6,
        *FIGURE_7,
        *FIGURE_8,
        *FIGURE_9,
        FIGURE_10,
        FIGURE_11,
        FIGURE_12,
    ],
)
