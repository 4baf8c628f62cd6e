"""What no paper asks, but whoever reads its figures: how far the queues can be trusted."""

from unskew.experiments.own_checks.predictions import PREDICTIONS

EXPERIMENTS = (PREDICTIONS,)
