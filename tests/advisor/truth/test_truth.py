"""What event logs are said to show, against the truth of jobs that are known by construction."""

import pytest
from tests.advisor.truth.jobs import CASES, HELD_OUT
from tests.advisor.truth.make import LOGS, log_of
from tests.advisor.truth.table import PAGE, confusion, named, stages_of

from unskew.advisor.history.advice import CAUSES


@pytest.mark.parametrize("name", CASES)
def test_the_cause_that_is_named_is_the_true_one(name: str) -> None:
    assert named(name) == CASES[name].cause, [each.advice for each in stages_of(name)]


def test_every_job_has_its_log_and_enough_were_kept_out() -> None:
    assert {each.name for each in LOGS.iterdir()} == {log_of(name).name for name in CASES}
    assert len(CASES) >= 20
    assert len(HELD_OUT) >= 5
    assert set(HELD_OUT) <= set(CASES)


def test_the_page_has_the_table_of_today() -> None:
    assert confusion() in PAGE.read_text()
    assert all(f"`{cause}`" in PAGE.read_text() for cause in CAUSES)
