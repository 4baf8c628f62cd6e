"""Keep plans in a real store, read by running queries; print what came of it.

``python -m tests.spark.stores.stores_program hdfs FOLDER JAR …``, or ``s3a``. HDFS is Hadoop's mini
cluster in the driver's JVM, S3 is moto behind a server that can be told to fail.
"""

import json
import logging
import os
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.advisor.history.log_cases import completed, executor, job, started, write
from tests.cheap_settings import INTERPRETED, PARTITIONS, PLAIN_FILES
from tests.spark.grouped_cases import SUMS, SumAndCount
from tests.spark.stream_cases import ROWS, WORKERS, rows_of, source, wait_for, write_file

import unskew.spark as us
from unskew._stores import located, write_whole
from unskew.advisor.history import read_history
from unskew.spark.plans.saved import PlanStore
from unskew.spark.steps.applying import ROCKSDB, STATE_STORE

BUCKET = "plans"
EVERY = 10
# S3A would try again by itself, where a store stays away for long.
IMPATIENT = {
    "spark.hadoop.fs.s3a.attempts.maximum": "1",
    "spark.hadoop.fs.s3a.retry.limit": "0",
    "spark.hadoop.fs.s3a.retry.http.5xx.errors": "false",
}
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class FailingStore:
    """Answers 500 instead of every tenth request, or of all; counts what it refused."""

    def __init__(self, application: Application) -> None:
        self.fails: Callable[[int], bool] = lambda _: False
        self.refused = 0
        self._requests = 0
        self._application = application
        self._lock = threading.Lock()

    def __call__(self, environment: dict[str, Any], respond: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        with self._lock:
            self._requests += 1
            refuses = self.fails(self._requests)
            self.refused += refuses
        if not refuses:
            return self._application(environment, respond)
        environment["wsgi.input"].read(int(environment.get("CONTENT_LENGTH") or 0))
        respond("500 Internal Server Error", [("Content-Length", "0")])
        return [b""]

    def wait_until_left_alone(self) -> None:
        """Wait until the loop is done, which tries each call three times, half a second apart."""
        before = -1
        while before < self.refused:
            before = self.refused
            time.sleep(1.5)


def serve_s3() -> tuple[FailingStore, dict[str, str]]:
    """Start moto, and return it with the settings by which S3A finds it."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    store = FailingStore(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, store, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.port}"
    made = urllib.request.Request(f"{address}/{BUCKET}", method="PUT")  # noqa: S310 (our own)
    urllib.request.urlopen(made).close()  # noqa: S310 (our own)
    settings = {
        "endpoint": address,
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "access.key": "nobody",
        "secret.key": "nothing",
    }
    return store, {f"spark.hadoop.fs.s3a.{name}": value for name, value in settings.items()}


def start_hdfs(spark: SparkSession, folder: Path) -> tuple[Any, str]:
    """Start a name node and a data node, and return them with their URL."""
    jvm: Any = spark._jvm
    settings = jvm.org.apache.hadoop.conf.Configuration()
    settings.set("hdfs.minidfs.basedir", str(folder / "hdfs"))
    cluster = jvm.org.apache.hadoop.hdfs.MiniDFSCluster.Builder(settings).numDataNodes(1).build()
    cluster.waitActive()
    return cluster, str(cluster.getURI().toString())


def report(case: str, **facts: object) -> None:
    """Print what the test reads."""
    print("REPORT", json.dumps({"case": case, **facts}), flush=True)


def saved_plans(spark: SparkSession, folder: Path, base: str) -> None:
    """Save two plans in turn under one name, while somebody reads."""
    rows = spark.read.parquet(str(folder / "in"))
    plans = [us.plan(rows, "user", workers, grouping="wrap") for workers in (WORKERS, 2 * WORKERS)]
    url = f"{base}/saved/plan.json"
    try:
        us.load_plan(url)
    except us.PlanFileError as error:
        missing = str(error)
    plans[0].save(url)
    seen: set[int] = set()
    errors: list[str] = []
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            try:
                seen.add(us.load_plan(url).workers)
            except us.StoreError:
                pass  # S3A gives up reading what is replaced meanwhile, again and again
            except Exception as error:
                errors.append(repr(error))

    reader = threading.Thread(target=read)
    reader.start()
    number, deadline = 0, time.monotonic() + 30
    # A reader that was refused pauses longer than thirty writes take.
    while (number < 30 or len(seen) < 2) and time.monotonic() < deadline:
        plans[number % 2].save(url)
        number += 1
    is_over.set()
    reader.join()
    plans[1].save(url)
    names = [path.name for path in located("", "", f"{base}/saved").iterdir()]
    report("saved", missing=missing, seen=sorted(seen), errors=errors, names=names)
    log = write(folder / "app-1", [started(), executor(2), *job(500), completed(3)])
    logs = located("", "", f"{base}/logs")
    logs.mkdir()
    write_whole(logs / "app-1", log.read_text())
    (application,) = read_history(f"{base}/logs").applications
    report("history", name=application.name, path=application.path.removeprefix(base))
    loaded = us.load_plan(url)
    report("loaded", is_same=str(loaded) == str(plans[1]) and loaded.by == ("user",))


class Stream:
    """A query over files of its own that one after the other are there.

    Parameters
    ----------
    base
        The store.
    place
        Makes the query out of the stream and its ``plan_path``.
    """

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        base: str,
        place: Callable[[DataFrame, str], DataFrame],
    ) -> None:
        self.folder, self.plans = folder, f"{base}/{folder.name}"
        folder.mkdir()
        (folder / "in").mkdir()
        self._spark, self._place = spark, place
        self._files = 0

    def start(self) -> None:
        """Start it, or start it again."""
        writer = self._place(source(self._spark, self.folder), self.plans).writeStream
        writer = writer.format("parquet").option("path", str(self.folder / "out"))
        self._query = writer.option("checkpointLocation", str(self.folder / "checkpoint")).start()

    def bring(self, *, files: int = 1, is_heard: bool = True) -> None:
        """Bring files, and wait until rows are out and, if it ``is_heard``, the loop knows."""
        for _ in range(files):
            write_file(self.folder / "in", self._files)
            self._files += 1
            self._query.processAllAvailable()
            if is_heard:
                wait_for(lambda: any(one.batch == self._files - 1 for one in self.epochs()))

    def stop(self) -> None:
        """Stop it."""
        self._query.stop()

    def epochs(self) -> list[us.Epoch]:
        """Return what is on record."""
        with suppress(us.StoreError):
            return us.read_epochs(self.plans)
        return []

    def rows(self) -> tuple[DataFrame, DataFrame]:
        """Return what came out and what went in."""
        read = self._spark.read
        return read.parquet(str(self.folder / "out")), read.parquet(str(self.folder / "in"))

    def facts(self) -> dict[str, object]:
        """Return what is reported of every stream."""
        epochs = self.epochs()
        return {
            "batches": [one.batch for one in epochs],
            "versions": [one.version for one in epochs],
            "imbalance": [round(one.imbalance, 1) for one in epochs],
            "rows": [one.rows for one in epochs],
        }


def by_plan(stream: DataFrame, plans: str) -> DataFrame:
    """Place by a plan, which the JVM reads."""
    return us.balance_stream(stream, "user", WORKERS, plan_path=plans, grouping="wrap")


def by_flow(stream: DataFrame, plans: str) -> DataFrame:
    """Place row by row, in Python."""
    return us.balance_stream(stream, "user", WORKERS, plan_path=plans, grouping="flow")


def by_cost(stream: DataFrame, plans: str) -> DataFrame:
    """Place by a schedule, and tell the machines of workers where they stood."""
    return us.map_batches(
        stream,
        lambda batch: batch,
        stream.schema,
        cost_by="user",
        workers=WORKERS,
        plan_path=plans,
    )


def by_weight(stream: DataFrame, plans: str) -> DataFrame:
    """Place row by row, by what keys took."""
    rows = stream.select("user", sf.col("amount").alias("x"))
    grouped = us.group_by(
        rows, "user", workers=WORKERS, grouping="partial-key", weight="measured", plan_path=plans
    )
    return grouped.apply(SumAndCount(), SUMS)


Query: TypeAlias = Callable[[DataFrame, str], DataFrame]
# Tasks find plans in the same way whatever the store, so that each kind of query need not be twice.
QUERIES: dict[str, tuple[Query, ...]] = {
    "hdfs": (by_plan, by_flow, by_cost),
    "s3a": (by_plan, by_weight),
}


def streams(spark: SparkSession, folder: Path, base: str, queries: Iterable[Query]) -> None:
    """Run each kind of query, stopped and started again."""
    for place in queries:
        name = place.__name__.replace("_", "-")
        stream = Stream(spark, folder / name, base, place)
        stream.start()
        stream.bring()
        stream.stop()
        stream.start()
        stream.bring()
        stream.stop()
        out, rows = stream.rows()
        if place is by_weight:
            out = out.groupBy("user").agg(sf.max_by(sf.struct("total", "n"), "n").alias("last"))
            out = out.select("user", "last.*")
            rows = rows.groupBy("user").agg(sf.sum("amount"), sf.count("*"))
        report(name, is_exact=rows_of(out) == rows_of(rows), **stream.facts())
        if place is by_plan:
            loads = us.Loads(stream.plans).to_df(spark)
            report("loads", rows=loads.agg(sf.sum("rows")).head()[0])  # type: ignore[index] # one row


def faults(spark: SparkSession, folder: Path, base: str, store: FailingStore) -> None:
    """Let every tenth call fail, then all of them for two micro-batches."""
    stream = Stream(spark, folder / "every-tenth", base, by_plan)
    stream.start()
    store.fails = lambda number: number % EVERY == 0
    stream.bring(files=4)
    store.fails = lambda _: False
    stream.stop()
    out, rows = stream.rows()
    facts = stream.facts()
    report("every-tenth", is_exact=rows_of(out) == rows_of(rows), refused=store.refused, **facts)

    for place in (by_plan, by_flow):
        away = Stream(spark, folder / f"away-{place.__name__}", base, place)
        away.start()
        store.fails, store.refused = lambda _: True, 0
        away.bring(files=2, is_heard=False)
        store.wait_until_left_alone()
        refused, store.fails = store.refused, lambda _: False
        away.bring(files=3)
        away.stop()
        out, rows = away.rows()
        facts = away.facts()
        is_exact = rows_of(out) == rows_of(rows)
        report(away.folder.name, is_exact=is_exact, refused=refused, **facts)


def main(kind: str, folder: Path, jars: list[str]) -> None:
    """Run all in one store."""
    store, settings = serve_s3() if kind == "s3a" else (None, {})
    quick = {**INTERPRETED, **PLAIN_FILES, PARTITIONS: "4", STATE_STORE: ROCKSDB}
    spark = us.session(
        master="local[2]",
        **{
            "spark.driver.extraClassPath": os.pathsep.join(jars),
            "spark.ui.enabled": "false",
            **settings,
            **(IMPATIENT if store else {}),
            **quick,
        },
    )
    spark.sparkContext.setLogLevel("OFF")
    cluster, base = (None, f"s3a://{BUCKET}") if store else start_hdfs(spark, folder)
    base = f"{base}/of/a team"
    write_file(folder / "in", 0)
    saved_plans(spark, folder, base)
    streams(spark, folder, base, QUERIES[kind])
    if store is not None:
        faults(spark, folder, base, store)
    versions = PlanStore(f"{base}/by-plan").versions()
    report("versions", plans=versions, rows=ROWS)
    if cluster is not None:
        cluster.shutdown()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
