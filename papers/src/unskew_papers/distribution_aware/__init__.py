"""Distribution-aware key grouping (Rivetti et al. 2015): whole keys, placed by what was learned."""

from unskew_papers.distribution_aware.instances import FIGURE_2, FIGURE_3, FIGURE_5, TABLE_1
from unskew_papers.distribution_aware.prototype import FIGURE_10, FIGURE_11, FIGURE_12
from unskew_papers.distribution_aware.spread import FIGURE_4
from unskew_papers.distribution_aware.tuning import FIGURE_6, FIGURE_7, FIGURE_8, FIGURE_9
from unskew_papers.distribution_aware.variants import FIGURE_13, FIGURE_14
from unskew_papers.experiment import declared

EXPERIMENTS = declared(
    "distribution-aware",
    [
        TABLE_1,
        FIGURE_2,
        FIGURE_3,
        FIGURE_4,
        FIGURE_5,
        FIGURE_6,
        FIGURE_7,
        FIGURE_8,
        FIGURE_9,
        FIGURE_10,
        FIGURE_11,
        FIGURE_12,
        FIGURE_13,
        FIGURE_14,
    ],
)
