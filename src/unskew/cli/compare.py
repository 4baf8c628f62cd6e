"""``unskew compare``: many groupings on one stream, in one table."""

from typing import TYPE_CHECKING, Annotated

import typer

from unskew.cli import _options as options

if TYPE_CHECKING:
    from unskew.groupings.base import Grouping
    from unskew.streams.base import Stream


def compare(
    context: typer.Context,
    grouping: Annotated[
        list[str] | None,
        typer.Option(
            "--grouping",
            "-g",
            help="A scheme, NAME or NAME:parameter=value,…; may be given many times. "
            "Default: all that fit the stream and the workers.",
            show_default=False,
        ),
    ] = None,
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
    r"""Put one stream through many groupings; all are measured on the same rows.

    [bold]Examples[/bold]

    unskew compare -w 20 --sources 5 --stream zipf:keys=100k,exponent=1.4,rows=2M

    unskew compare -g key -g partial-key -g partial-key:choices=4 -g wrap --json

    unskew compare -w 5 --report out.html \
      --stream zipf:keys=4096,rows=32768,costs=64
    """
    from unskew.cli._simulation import SimulationSettings

    settings = SimulationSettings(
        workers, sources, feed, learn, epoch, weighted, over_provisioning, speeds, seed
    )
    settings.check(report)

    from unskew.cli._simulation import measure_all
    from unskew.cli._terminal import Output
    from unskew.streams import parse_stream

    workload = parse_stream(stream, seed=seed)
    schemes, left_out = choose_schemes(grouping, workload, workers, seed)
    settings.check_stream(workload, list(schemes.values()))
    settings = settings.measuring_the_same_rows(list(schemes.values()))
    measured = measure_all(schemes, workload, settings, show=not no_progress)
    notes = [f"left out: {name} ({reason})" for name, reason in left_out.items()]
    fields = {"results": [each.to_json() for each in measured], "left_out": left_out}
    Output(json, report, context.obj or []).hand_over(measured, fields, notes)


def choose_schemes(
    specs: list[str] | None, stream: "Stream", workers: int, seed: int
) -> tuple[dict[str, "Grouping"], dict[str, str]]:
    """Return the schemes by label, and why others were left out.

    Schemes that the user named are made as given, and a mistake is an error. Where none are
    named, all are taken but those that cannot do anything with this stream or so few workers.
    """
    from unskew.groupings.registry import GROUPINGS, make_all, make_grouping

    if specs:
        return {spec: make_grouping(spec, workers, seed=seed) for spec in specs}, {}
    return make_all(GROUPINGS, workers, costs=stream.has_costs, seed=seed)
