from prometheus_client.parser import text_string_to_metric_families
from tests.dashboard.dashboard_cases import event

from unskew.dashboard.feed import Feed
from unskew.dashboard.model import RunModel
from unskew.dashboard.prometheus import metrics_text


def values(feed: Feed) -> dict[tuple[str, tuple[str, ...]], float]:
    families = text_string_to_metric_families(metrics_text(feed).decode())
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
    }


def test_counters_count_all_micro_batches_and_gauges_tell_of_the_last() -> None:
    feed = Feed(RunModel("run"))
    for batch, seconds in enumerate((0.5, 2.0)):
        feed.publish(
            event(
                "wrap",
                batch,
                seconds=seconds,
                busy_seconds=(0.1, 0.2, 0.3, 0.4),
                replication=1.5,
                version=batch + 1,
                latency=(0.1, 0.2, 0.3),
                dead_letters=3,
                phase="RUN",
                messages=5,
            )
        )
    found = values(feed)
    assert found["unskew_rows_total", ("wrap",)] == 200
    assert found["unskew_batches_total", ("wrap",)] == 2
    assert found["unskew_batch_seconds_total", ("wrap",)] == 2.5
    assert found["unskew_batch_duration_seconds", ("wrap",)] == 2.0
    assert found["unskew_dead_letters_total", ("wrap",)] == 6
    assert found["unskew_scheduler_messages_total", ("wrap",)] == 10
    assert found["unskew_imbalance_percent", ("wrap",)] == 100.0
    assert found["unskew_replication", ("wrap",)] == 1.5
    assert found["unskew_plan_version", ("wrap",)] == 2
    assert found["unskew_worker_rows_total", ("wrap", "0")] == 100
    assert found["unskew_worker_busy_seconds_total", ("wrap", "3")] == 0.8
    assert found["unskew_latency_seconds", ("wrap", "0.95")] == 0.2
    assert found["unskew_scheduler_phase", ("wrap", "RUN")] == 1


def test_workers_have_metrics_of_their_own_only_while_they_are_few() -> None:
    feed = Feed(RunModel("run"))
    feed.publish(event("few", loads=(1,) * 64))
    feed.publish(event("many", loads=(1,) * 65))
    found = values(feed)
    assert sum(name == "unskew_worker_rows_total" for name, _ in found) == 64
    assert found["unskew_workers", ("many",)] == 65


def test_what_is_not_known_is_not_exported() -> None:
    feed = Feed(RunModel("run"))
    feed.publish(event("key", loads=(), rows=5))
    names = {name for name, _ in values(feed)}
    assert "unskew_rows_total" in names
    assert names.isdisjoint({"unskew_imbalance_percent", "unskew_replication", "unskew_workers"})
