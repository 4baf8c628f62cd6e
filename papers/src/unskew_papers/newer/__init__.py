"""Schemes that are newer than the five papers: one headline claim each, on its kind of workload."""

from unskew_papers.experiment import declared
from unskew_papers.newer.headlines import HEADLINES

EXPERIMENTS = declared("newer", HEADLINES)
