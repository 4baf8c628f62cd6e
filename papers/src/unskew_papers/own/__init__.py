"""Checks that no paper asks for: how far queues can be trusted, what our schemes promise."""

from unskew_papers.experiment import declared
from unskew_papers.own.calibrated_queues import CALIBRATED_QUEUES
from unskew_papers.own.choosing import AUTO, DIAGNOSE
from unskew_papers.own.flow_promises import FLOW
from unskew_papers.own.uneven_clusters import UNEVEN
from unskew_papers.own.wrap_promises import WRAP_DRIFT, WRAP_EVEN

EXPERIMENTS = declared(
    "own", [CALIBRATED_QUEUES, WRAP_EVEN, WRAP_DRIFT, FLOW, UNEVEN, AUTO, DIAGNOSE]
)
