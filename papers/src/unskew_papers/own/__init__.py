"""What no paper asks: how far the queues can be trusted, and what our own schemes promise."""

from unskew_papers.own.auto_choice import AUTO
from unskew_papers.own.calibrated_queues import CALIBRATED_QUEUES
from unskew_papers.own.diagnose_predictions import DIAGNOSE
from unskew_papers.own.wrap_drift import WRAP_DRIFT
from unskew_papers.own.wrap_even import WRAP_EVEN

EXPERIMENTS = (CALIBRATED_QUEUES, WRAP_EVEN, WRAP_DRIFT, AUTO, DIAGNOSE)
