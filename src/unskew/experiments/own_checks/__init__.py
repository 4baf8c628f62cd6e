"""What no paper asks: how far the queues can be trusted, and what our own schemes promise."""

from unskew.experiments.own_checks.auto_choice import AUTO
from unskew.experiments.own_checks.calibrated_queues import CALIBRATED_QUEUES
from unskew.experiments.own_checks.diagnose_predictions import DIAGNOSE
from unskew.experiments.own_checks.wrap_drift import WRAP_DRIFT
from unskew.experiments.own_checks.wrap_even import WRAP_EVEN

EXPERIMENTS = (CALIBRATED_QUEUES, WRAP_EVEN, WRAP_DRIFT, AUTO, DIAGNOSE)
