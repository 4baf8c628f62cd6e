"""``unskew simulate``: one grouping on one stream."""

from typing import Annotated

import typer

from unskew.cli import _options as options


def simulate(
    context: typer.Context,
    grouping: Annotated[
        str,
        typer.Option(
            "--grouping", "-g", help="The scheme: NAME or NAME:parameter=value,…; see 'groupings'."
        ),
    ] = "auto",
    workers: options.Workers = 10,
    stream: options.StreamSpec = options.DEFAULT_STREAM,
    seed: options.Seed = 0,
    sources: options.SourceCount = 1,
    feed: options.Feed = "round-robin",
    learn: options.Learn = None,
    epoch: options.Epoch = None,
    weighted: options.Weighted = False,
    over_provisioning: options.OverProvisioning = None,
    speeds: options.Speeds = None,
    json: options.Json = False,
    report: options.Report = None,
    no_progress: options.NoProgress = False,
) -> None:
    r"""Put a stream through one grouping and see how even the load is, at what memory.

    [bold]Examples[/bold]

    unskew simulate --grouping partial-key --workers 10 --sources 5 \
      --stream zipf:keys=100000,exponent=1.2,rows=5000000 --seed 1

    unskew simulate -g wrap -w 100 --learn 0.1 --json

    unskew simulate -g proactive-shuffle -w 5 --over-provisioning 1.05 \
      --stream zipf:keys=4096,exponent=1.0,rows=32768,costs=64

    unskew simulate -g key --report out.html \
      --stream 'file:orders.parquet?key=customer'
    """
    from unskew.cli._simulation import SimulationSettings

    settings = SimulationSettings(
        workers, sources, feed, learn, epoch, weighted, over_provisioning, speeds, seed
    )
    settings.check(report)

    from unskew.cli._simulation import measure_all
    from unskew.cli._terminal import Output
    from unskew.groupings.registry import make_grouping
    from unskew.streams import parse_stream

    scheme = make_grouping(grouping, workers, seed=seed)
    workload = parse_stream(stream, seed=seed)
    settings.check_stream(workload, [scheme])
    measured = measure_all({grouping: scheme}, workload, settings, show=not no_progress)
    Output(json, report, context.obj or []).hand_over(measured, measured[0].to_json())
