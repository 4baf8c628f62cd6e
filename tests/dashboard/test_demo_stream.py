import itertools

import numpy as np
import pytest
from tests.dashboard.test_serving import wait_for

from unskew.dashboard import demo as demo_module
from unskew.dashboard.demo import GROUPINGS, Demo, SimulatedGrouping, demo_batches
from unskew.dashboard.feed import Feed
from unskew.dashboard.model import RunModel
from unskew.events import Epoch
from unskew.metrics import imbalance_percent


@pytest.fixture(scope="module")
def events() -> dict[str, list[Epoch]]:
    compared = [SimulatedGrouping(name) for name in GROUPINGS]
    batches = list(itertools.islice(demo_batches(), 30))
    return {
        each.name: [each.work(at, keys, started=0.0) for at, keys in enumerate(batches)]
        for each in compared
    }


def test_every_row_is_on_a_worker_and_the_figures_are_those_of_the_loads(
    events: dict[str, list[Epoch]],
) -> None:
    for event in itertools.chain(*events.values()):
        assert sum(event.loads) == event.rows
        assert event.imbalance == imbalance_percent(event.loads)
        assert event.hot_keys[0].share == max(key.share for key in event.hot_keys)


def test_the_demo_shows_what_it_is_meant_to_show(events: dict[str, list[Epoch]]) -> None:
    typical = {name: np.median([e.imbalance for e in of]) for name, of in events.items()}
    assert typical["wrap"] < 5 < typical["partial-key"] < typical["key"]
    assert all(event.replication == 1.0 for event in events["key"])
    assert all(
        event.replication is not None and event.replication < 1.1 for event in events["wrap"]
    )


def test_wrap_plans_anew_when_the_hot_keys_change_and_only_then(
    events: dict[str, list[Epoch]],
) -> None:
    phase = demo_module._BATCHES_PER_PHASE
    made = [event.batch for event in events["wrap"] if event.next_version is not None]
    assert made == [0, phase]
    assert all(event.why for event in events["wrap"] if event.batch in made)


def test_the_demo_runs_until_it_is_closed() -> None:
    feed = Feed(RunModel("demo", "demo"))
    with Demo(feed, seconds_per_batch=0.01):
        wait_for(lambda: feed.state()["sequence"] >= 9)
    assert [each["name"] for each in feed.state()["groupings"]] == list(GROUPINGS)
