"""Every query of the Grafana board is answered by what the dashboard exports."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.dashboard.dashboard_cases import event

from unskew.dashboard.feed import Feed
from unskew.dashboard.model import RunModel
from unskew.dashboard.prometheus import metrics_text
from unskew.events import HotKey

BOARD: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "dashboards" / "grafana.json").read_text()
)
_SELECTOR = re.compile(r"(unskew_\w+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)(=~|=)"([^"]*)"')
_SHOWN_LABEL = re.compile(r"\{\{(\w+)\}\}")


def queries() -> list[tuple[str, str]]:
    found = [
        (target["expr"], target["legendFormat"])
        for panel in BOARD["panels"]
        for target in panel["targets"]
    ]
    found += [(note["expr"], note["titleFormat"]) for note in BOARD["annotations"]["list"]]
    return found


@pytest.fixture(scope="module")
def exported() -> dict[str, list[dict[str, str]]]:
    feed = Feed(RunModel("run"))
    feed.publish(
        event(
            "wrap",
            busy_seconds=(0.1, 0.2, 0.3, 0.4),
            predicted_imbalance=1.0,
            replication=1.5,
            split_keys=2,
            version=3,
            latency=(0.1, 0.2, 0.3),
            phase="RUN",
            messages=5,
            hot_keys=(HotKey("a", 0.5, (0, 1)),),
        )
    )
    samples: dict[str, list[dict[str, str]]] = {}
    for family in text_string_to_metric_families(metrics_text(feed).decode()):
        for sample in family.samples:
            samples.setdefault(sample.name, []).append(sample.labels)
    return samples


def selected(labels: dict[str, str], matchers: list[tuple[str, str, str]]) -> bool:
    """Whether a series fits, with Grafana's variables standing for all."""
    return all(
        name in labels and (value.startswith("$") or labels[name] == value)
        for name, _, value in matchers
    )


@pytest.mark.parametrize(("query", "legend"), queries())
def test_every_query_selects_a_series_that_is_exported(
    exported: dict[str, list[dict[str, str]]], query: str, legend: str
) -> None:
    selectors = _SELECTOR.findall(query)
    assert selectors
    for metric, inside in selectors:
        assert metric in exported
        matchers = _MATCHER.findall(inside)
        assert len(matchers) == inside.count("=")  # nothing in braces went unread
        series = [labels for labels in exported[metric] if selected(labels, matchers)]
        assert series
    shown = set(_SHOWN_LABEL.findall(legend))
    assert shown <= set(series[0])


@pytest.mark.parametrize(("query", "_legend"), queries())
def test_rates_are_taken_of_counters_and_of_nothing_else(query: str, _legend: str) -> None:
    rated = re.findall(r"rate\((unskew_\w+)", query)
    assert all(name.endswith("_total") for name in rated)
    assert query.count("[5m]") == len(rated)
    assert query.count("(") == query.count(")")


def test_every_exported_metric_is_on_the_board(exported: dict[str, list[dict[str, str]]]) -> None:
    asked = {metric for query, _ in queries() for metric, _ in _SELECTOR.findall(query)}
    assert asked == set(exported)


def test_the_variable_asks_for_a_label_that_is_there(
    exported: dict[str, list[dict[str, str]]],
) -> None:
    (variable,) = [each for each in BOARD["templating"]["list"] if each["type"] == "query"]
    asked = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["definition"])
    assert asked is not None
    metric, label = asked.groups()
    assert variable["query"]["query"] == variable["definition"]
    assert label in exported[metric][0]


def test_panels_do_not_overlap() -> None:
    places = [panel["gridPos"] for panel in BOARD["panels"]]
    cells = [
        (column, row)
        for place in places
        for column in range(place["x"], place["x"] + place["w"])
        for row in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(column for column, _ in cells) < 24
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(places)
