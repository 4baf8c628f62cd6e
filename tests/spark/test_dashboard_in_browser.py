"""A real stream on Spark, watched in a real browser."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from pyspark.sql import SparkSession
from tests.dashboard.browser import Browser, needs_browser, open_browser
from tests.spark.stream_cases import ROWS, source, start, write_file

import unskew.spark as us

pytestmark = [pytest.mark.browser, needs_browser]

WORKERS = 8


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with open_browser(tmp_path / "profile") as opened:
        yield opened


def state_of(url: str) -> dict[str, Any]:
    with urlopen(url + "api/latest", timeout=20) as answer:  # noqa: S310 (our own server)
        return {each["name"]: each for each in json.load(answer)["groupings"]}


def shows_rows(browser: Browser, grouping: str, rows: int) -> bool:
    return browser.figure(grouping, "total_rows").replace(",", "") == str(rows)


def test_two_groupings_of_a_running_stream_are_followed_side_by_side(
    spark: SparkSession, tmp_path: Path, browser: Browser
) -> None:
    write_file(tmp_path / "in", 0)
    stream = source(spark, tmp_path)
    queries = {
        name: start(
            us.balance_stream(
                stream, "user", WORKERS, plan_path=tmp_path / f"plans-{name}", grouping=name
            ),
            tmp_path,
            f"in_browser_{name.replace('-', '_')}",
        )
        for name in ("distribution-aware", "wrap")
    }
    with us.watch(queries, port=0, spark=spark) as watched:
        write_file(tmp_path / "in", 1)
        browser.open(watched.url)
        names = "#cards > article > h3 > .label"
        browser.wait_for(lambda: len(browser.texts(names)) == 2, 120)
        seen = browser.figure("wrap", "total_rows")
        for number in range(2, 5):
            write_file(tmp_path / "in", number)
        browser.wait_for(lambda: browser.figure("wrap", "total_rows") != seen, 120)
        for query in queries.values():
            query.processAllAvailable()
        browser.wait_for(
            lambda: all(each["frames"][0]["batch"] == 4 for each in state_of(watched.url).values()),
            120,
        )
        browser.wait_for(lambda: "batch 4" in browser.text("#moment"))
        for name, state in state_of(watched.url).items():
            assert state["totals"]["rows"] % ROWS == 0
            browser.wait_for(partial(shows_rows, browser, name, state["totals"]["rows"]))
        browser.keep_screenshot("dashboard-spark")
        browser.click('#groupings button[data-name="distribution-aware"]')
        browser.wait_for(lambda: browser.texts(names) == ["wrap"])
        for query in queries.values():
            query.stop()
        assert watched.wait(60)
        browser.wait_for(lambda: browser.text("#status") == "ended")
