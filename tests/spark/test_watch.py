"""Watch real queries: what the page and the record say is what Spark and the loop say."""

import json
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyspark.sql.functions as sf
import pytest
from pyspark.sql import SparkSession
from tests.spark.stream_cases import (
    ROWS,
    WORKERS,
    epochs_after,
    source,
    start,
    write_file,
)

import unskew.spark as us
from unskew.dashboard.serving import open_socket
from unskew.errors import InvalidParameterError
from unskew.events import Epoch, read_events
from unskew.spark.watch import EventMaker


def wait_for(happened: Callable[[], bool]) -> None:
    """Wait for a micro-batch, the first of which may have to compile everything."""
    until = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.1)


def latest(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url + "api/latest", timeout=20) as answer:  # noqa: S310 (our own)
        found: dict[str, Any] = json.load(answer)
        return found


def has_shown(url: str, batches: int) -> bool:
    return bool(latest(url)["sequence"] >= batches)


def test_a_placed_query_is_shown_and_put_on_record_as_its_epochs_have_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    placed = us.balance_stream(
        source(spark, tmp_path), "user", WORKERS, plan_path=tmp_path / "plans"
    )
    query = start(placed, tmp_path, "watched")
    with us.watch(query, folder=tmp_path / "run", port=0, spark=spark) as watched:
        for number in range(3):
            write_file(tmp_path / "in", number)
            wait_for(partial(has_shown, watched.url, number + 1))
        (shown,) = latest(watched.url)["groupings"]
        query.stop()
        assert watched.wait(60)  # it closes with the query
    epochs = epochs_after(tmp_path / "plans", 3)
    events = read_events(tmp_path / "run")
    assert [event.batch for event in events] == [0, 1, 2]
    for event, epoch in zip(events, epochs, strict=True):
        for name in ("loads", "rows", "imbalance", "version", "next_version", "why", "replication"):
            assert getattr(event, name) == getattr(epoch, name)
        assert event.seconds is not None
        assert event.seconds > 0
    assert shown["name"] == "watched"
    assert shown["totals"]["rows"] == 3 * ROWS
    assert shown["frames"][-1]["loads"]["values"] == list(epochs[-1].loads)
    with open_socket("127.0.0.1", watched.port):
        pass


def test_hot_keys_are_named_with_their_shares_and_places(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    placed = us.balance_stream(
        source(spark, tmp_path), "user", WORKERS, plan_path=tmp_path / "plans"
    )
    query = start(placed, tmp_path, "hot")
    known = spark.createDataFrame([("user 0",), (None,)], "user string")
    with us.watch(query, folder=tmp_path / "run", keys=known, port=0, spark=spark) as watched:
        for number in range(2):
            write_file(tmp_path / "in", number)
            wait_for(partial(has_shown, watched.url, number + 1))
    query.stop()
    rows = spark.read.parquet(str(tmp_path / "in" / "001.parquet"))
    counted = rows.groupBy("user", sf.xxhash64("user").alias("hash")).count()
    shares = {
        "user 0" if row["user"] == "user 0" else f"xxhash64 {row['hash']}": row["count"] / ROWS
        for row in counted.collect()
    }
    first, second = read_events(tmp_path / "run")[:2]
    assert first.hot_keys[0].workers == ()  # there was no plan yet
    found = second.hot_keys[0]
    assert found.key == "user 0"
    assert len(second.hot_keys) == 10
    assert all(key.share == shares[key.key] for key in second.hot_keys if key.key in shares)
    assert sum(key.key in shares for key in second.hot_keys) >= 9  # null has a name too
    assert len(found.workers) > 1  # half of all rows fit on no worker of four
    assert second.predicted_loads is not None
    assert sum(second.predicted_loads) == pytest.approx(ROWS)


def test_queries_side_by_side_and_one_that_unskew_does_not_place(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_file(tmp_path / "in", 0)
    stream = source(spark, tmp_path)
    plain = start(stream, tmp_path, "side_plain")
    mapped = start(
        us.balance_stream(stream, "user", WORKERS, plan_path=tmp_path / "plans"),
        tmp_path,
        "side_wrap",
    )
    with us.watch({"plain": plain, "wrap": mapped}, port=0, spark=spark) as watched:
        write_file(tmp_path / "in", 1)
        wait_for(lambda: len(latest(watched.url)["groupings"]) == 2)
        shown = {each["name"]: each for each in latest(watched.url)["groupings"]}
        assert shown["plain"]["frames"][-1]["rows"] == ROWS
        assert shown["plain"]["frames"][-1]["loads"] is None
        assert sum(shown["wrap"]["frames"][-1]["loads"]["values"]) == ROWS
        plain.stop()
        assert not watched.wait(0.5)  # one query still runs
        mapped.stop()
        assert watched.wait(60)


def test_a_query_goes_on_when_the_page_cannot_follow_or_show(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    query = start(source(spark, tmp_path), tmp_path, "overrun")
    gate = threading.Event()

    def wait_and_fail(*_: object) -> list[Epoch]:
        gate.wait(60)
        raise RuntimeError("nothing can be shown")

    monkeypatch.setattr(sys.modules[EventMaker.__module__], "_MOST_WAITING", 1)
    monkeypatch.setattr(EventMaker, "events", wait_and_fail)
    with us.watch(query, port=0, spark=spark) as watched:
        for number in range(4):
            write_file(tmp_path / "in", number)
        query.processAllAvailable()
        assert spark.table("overrun").count() == 4 * ROWS
        wait_for(lambda: watched.dropped >= 2)  # one is being shown, one waits
        threading.Timer(0.5, gate.set).start()
        watched.close()  # though there is no room for more
        assert watched.wait(0)
    assert query.isActive
    query.stop()


def test_what_does_not_run_cannot_be_watched(spark: SparkSession, tmp_path: Path) -> None:
    write_file(tmp_path / "in", 0)
    query = start(source(spark, tmp_path), tmp_path, "ended")
    query.stop()
    with pytest.raises(InvalidParameterError, match="query"):
        us.watch(query, port=0, spark=spark)
    with pytest.raises(InvalidParameterError, match="query"):
        us.watch({}, port=0, spark=spark)
