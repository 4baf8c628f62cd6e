"""Count words from a Kafka topic into another, with a broker that is restarted on the way.

Run as a program of its own, since the connector has to be loaded when the JVM starts:
``python -m tests.apps.running.kafka_wordcount FOLDER`` prints one line of JSON.
"""

import json
import sys
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from tests.kafka_broker import KafkaBroker

from unskew.apps.registry import make_application
from unskew.apps.running.kafka import connector
from unskew.apps.running.run_session import run_session
from unskew.apps.running.runner import ApplicationRun
from unskew.apps.running.sinks import parse_sink
from unskew.apps.running.sources import BatchSizes, parse_source
from unskew.cli.main import main as command
from unskew.errors import UnskewError
from unskew.reports.grouping_run import MeasuredBatch

WORDS = ["the"] * 700 + ["of"] * 200 + [f"word {number}" for number in range(600)]
MALFORMED = ["{not json", '{"at": "no time", "word": "x"}', '{"at": "2000-01-01T00:00:00Z"}']
_BATCH_ROWS = 400


def make_topic(spark: SparkSession, address: str, name: str) -> None:
    """Make a topic with two partitions."""
    jvm: Any = spark.sparkContext._jvm
    settings = jvm.java.util.HashMap()
    settings.put("bootstrap.servers", address)
    admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
    topic = jvm.org.apache.kafka.clients.admin.NewTopic(name, 2, 1)
    topics = jvm.java.util.ArrayList()
    topics.add(topic)
    admin.createTopics(topics).all().get()
    admin.close()


def produce(spark: SparkSession, address: str, topic: str) -> None:
    """Write all words, and some records that are no rows."""
    rows = [json.dumps({"at": "2000-01-01T00:00:00Z", "word": word}) for word in WORDS]
    values = spark.createDataFrame([(row,) for row in [*rows, *MALFORMED]], "value string")
    writer = values.write.format("kafka").option("kafka.bootstrap.servers", address)
    writer.option("topic", topic).save()


def counts_in(spark: SparkSession, address: str, topic: str) -> dict[str, int]:
    """Return the counts that are in force: the last one of each key."""
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", address)
    found = reader.option("subscribe", topic).load().orderBy("partition", "offset").collect()
    latest = {bytes(row["key"]): json.loads(row["value"]) for row in found}
    return {value["word"]: value["count"] for value in latest.values()}


def refusal(spark: SparkSession, run: ApplicationRun) -> str:
    """Return what is said of a run that cannot start."""
    try:
        run.check()
        run.run(spark)
    except UnskewError as error:
        return str(error)
    return "it ran"


def diagnosed(topic: str) -> dict[str, Any]:
    """Return what ``unskew diagnose`` prints of a topic."""
    printed = StringIO()
    with redirect_stdout(printed):
        code = command(["diagnose", topic, "--by", "word", "--workers", "4", "--json"])
    return {"code": code, **json.loads(printed.getvalue())}


def main(folder: Path) -> dict[str, Any]:
    """Return what happened."""
    broker = KafkaBroker(folder)
    with broker:
        spark = run_session("local[2]", workers=4, waits=False, packages=(connector(),))
        for name in ("words", "counts"):
            make_topic(spark, broker.address, name)
        produce(spark, broker.address, "words")
        restarts: list[int] = []

        def restart_once(batch: MeasuredBatch) -> None:
            if not restarts:
                restarts.append(batch.epoch.batch)
                broker.stop()
                broker.start()

        def asked(topic: str) -> ApplicationRun:
            portions = BatchSizes(_BATCH_ROWS, None, None, folder / "pool")
            source = parse_source(f"kafka:{topic}@{broker.address}", portions)
            sink = parse_sink(f"kafka:counts@{broker.address}")
            batches = -(-(len(WORDS) + len(MALFORMED)) // _BATCH_ROWS)
            return ApplicationRun(
                make_application("wordcount"), source, sink, ["wrap"], 4, folder / "run",
                max_batches=batches,
            )  # fmt: skip

        run = asked("words")
        run.check()
        (done,) = run.run(spark, on_batch=restart_once)
        counts = counts_in(spark, broker.address, "counts")
        report = {
            "restarts": len(restarts),
            "batches": len(done.batches),
            "rows": sum(batch.epoch.rows for batch in done.batches),
            "dead_letters": done.dead_letters,
            "equal": counts == dict(Counter(WORDS)),
            "wrong": sorted(set(counts.items()) ^ set(Counter(WORDS).items()))[:6],
            "no_topic": refusal(spark, asked("nothing")),
        }
        report["diagnosed"] = diagnosed(f"kafka:words@{broker.address}")
        spark.stop()
    return {**report, "no_broker": refusal(spark, asked("words"))}


if __name__ == "__main__":
    print("REPORT", json.dumps(main(Path(sys.argv[1]))))
