"""``unskew compare``: many groupings on one stream, in one table."""

from typing import TYPE_CHECKING, Annotated

import typer

from unskew.cli import _options as options
from unskew.errors import InvalidParameterError

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
    arena: Annotated[
        bool,
        typer.Option(
            "--arena",
            help="Run all groupings on many streams and numbers of workers, and say which ones no "
            "other beats; --stream, --workers and --grouping narrow it down. Default: one stream, "
            "one number of workers.",
            show_default=False,
        ),
    ] = False,
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

    unskew compare --arena --report arena.html
    """
    if arena:
        from unskew.cli._arena import compare_in_the_arena

        given = _given(context)
        compare_in_the_arena(
            grouping,
            stream if "stream" in given else None,
            workers if "workers" in given else None,
            seed=seed,
            json=json,
            report=report,
            arguments=context.obj or [],
            show=not no_progress,
        )
        return
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


_IN_THE_ARENA = {
    "arena", "grouping", "workers", "stream", "seed", "json", "report", "no_progress",
}  # fmt: skip


def _given(context: typer.Context) -> set[str]:
    """Return which options the user gave, or refuse those that the arena sets itself."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source and source.name != "DEFAULT"}
    for name in given - _IN_THE_ARENA:
        option = f"--{name.replace('_', '-')}"
        expected = "left out with --arena, which sets it"
        raise InvalidParameterError("unskew", option, expected, context.params[name])
    return given


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
