"""The same figures for Prometheus."""

from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from unskew.dashboard.feed import Feed

_COUNTERS = {
    "batches": ("unskew_batches", "Micro-batches."),
    "rows": ("unskew_rows", "Rows."),
    "seconds": ("unskew_batch_seconds", "Time that micro-batches took."),
    "busy_seconds": ("unskew_busy_seconds", "Time that workers worked, over all of them."),
    "dead_letters": ("unskew_dead_letters", "Rows that were put aside."),
    "messages": ("unskew_scheduler_messages", "Messages of the scheduler by costs."),
}
_GAUGES = {
    "seconds": ("unskew_batch_duration_seconds", "Duration of the last micro-batch."),
    "rows_per_second": ("unskew_throughput_rows_per_second", "Rows per second, last micro-batch."),
    "imbalance": (
        "unskew_imbalance_percent",
        "By how many percent the most loaded worker exceeds the mean.",
    ),
    "predicted_imbalance": (
        "unskew_predicted_imbalance_percent",
        "The imbalance that the plan had promised.",
    ),
    "sigma": (
        "unskew_load_stddev_percent",
        "Standard deviation of the workers' parts of all rows, in percent of all rows.",
    ),
    "replication": ("unskew_replication", "Workers that hold a key, on average."),
    "split_keys": ("unskew_split_keys", "Keys that live on several workers."),
    "version": ("unskew_plan_version", "The plan that the last micro-batch followed."),
}
_QUANTILES = ("0.5", "0.95", "0.99")

_WORKER = ["grouping", "worker"]


class FeedCollector(Collector):
    """Make metrics of what a feed shows, when they are asked for.

    Metrics of single workers are there only where workers are few.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        groupings = self._feed.totals()
        heads = [head for head, _, _ in groupings]
        yield from _counters(heads)
        yield from _gauges(heads)
        yield from _single_metrics(heads)
        rows = CounterMetricFamily("unskew_worker_rows", "Rows of a worker.", labels=_WORKER)
        busy = CounterMetricFamily(
            "unskew_worker_busy_seconds", "Time that a worker worked.", labels=_WORKER
        )
        for head, worker_rows, worker_busy in groupings:
            _add_workers(rows, head["name"], worker_rows)
            _add_workers(busy, head["name"], worker_busy)
        yield from (rows, busy)
        state = self._feed.state(latest_only=True)
        yield GaugeMetricFamily(
            "unskew_dashboard_healthy",
            "1, or 0 where the dashboard shows no more because something went wrong.",
            value=float(state["problem"] is None),
        )
        dropped = state["dropped"] + state["lost_messages"]
        yield CounterMetricFamily(
            "unskew_dashboard_dropped",
            "Events that the dashboard dropped, and messages that browsers were too slow for.",
            value=dropped,
        )


def metrics_text(feed: Feed) -> bytes:
    """Return the metrics in Prometheus' text format.

    >>> from unskew.dashboard.model import RunModel
    >>> b"unskew_dashboard_dropped_total 0.0" in metrics_text(Feed(RunModel("an example")))
    True
    """
    registry = CollectorRegistry()
    registry.register(FeedCollector(feed))
    return generate_latest(registry)


def _counters(heads: list[dict[str, Any]]) -> Iterator[Metric]:
    for field, (name, help_text) in _COUNTERS.items():
        family = CounterMetricFamily(name, help_text, labels=["grouping"])
        for head in heads:
            family.add_metric([head["name"]], head["totals"][field])
        yield family


def _gauges(heads: list[dict[str, Any]]) -> Iterator[Metric]:
    for field, (name, help_text) in _GAUGES.items():
        family = GaugeMetricFamily(name, help_text, labels=["grouping"])
        for head in heads:
            if head["frame"][field] is not None:
                family.add_metric([head["name"]], head["frame"][field])
        yield family


def _single_metrics(heads: list[dict[str, Any]]) -> Iterator[Metric]:
    workers = GaugeMetricFamily("unskew_workers", "Number of workers.", labels=["grouping"])
    hottest = GaugeMetricFamily(
        "unskew_hottest_key_share", "Part of the rows that one key has.", labels=["grouping"]
    )
    latency = GaugeMetricFamily(
        "unskew_latency_seconds", "Latency of rows.", labels=["grouping", "quantile"]
    )
    phase = GaugeMetricFamily(
        "unskew_scheduler_phase", "1 for the scheduler's phase.", labels=["grouping", "phase"]
    )
    for head in heads:
        name, frame = head["name"], head["frame"]
        if frame["loads"]:
            workers.add_metric([name], frame["loads"]["workers"])
        if frame["hot_keys"]:
            hottest.add_metric([name], frame["hot_keys"][0]["share"])
        for quantile, seconds in zip(_QUANTILES, frame["latency"] or (), strict=False):
            latency.add_metric([name, quantile], seconds)
        if frame["phase"]:
            phase.add_metric([name, frame["phase"]], 1)
    yield from (workers, hottest, latency, phase)


def _add_workers(family: CounterMetricFamily, grouping: str, values: list[Any]) -> None:
    for worker, value in enumerate(values):
        family.add_metric([grouping, str(worker)], value)
