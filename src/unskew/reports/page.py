"""Make and write reports: one HTML page that needs nothing but a browser, not even a network."""

import os
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path

from unskew._files import write_atomically
from unskew.errors import InvalidParameterError, UnskewError
from unskew.reports._plotly import require_plotly, to_div
from unskew.reports.charts import (
    balance_chart,
    batch_time_chart,
    imbalance_chart,
    loads_chart,
    run_loads_chart,
    waits_chart,
)
from unskew.reports.grouping_run import GroupingRun
from unskew.reports.measurement import Measurement
from unskew.reports.tables import (
    LOAD_COLUMNS,
    QUEUE_COLUMNS,
    RUN_COLUMNS,
    Column,
    Row,
    have_queues,
    measurement_facts,
)

# The policy lets the browser itself refuse whatever would go to the network.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
_STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --ink: #22262b; --soft: #666d76; --line: #dcdfe4;
  --best: #1a7f4b; --card: #f6f7f9; }
@media (prefers-color-scheme: dark) { :root { --page: #15181c; --ink: #e3e6ea; --soft: #99a1ab;
  --line: #343a42; --best: #5fd39a; --card: #1d2127; } }
body { background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  max-width: 1160px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .3rem; }
p { margin: .2rem 0 .6rem; color: var(--soft); } dl { display: grid; gap: .1rem 1rem;
  grid-template-columns: max-content 1fr; } dt { color: var(--soft); } dd { margin: 0;
  overflow-wrap: anywhere; } .scroll { overflow-x: auto; }
code { background: var(--card); border: 1px solid var(--line); border-radius: 6px; display: block;
  overflow-x: auto; padding: .5rem .7rem; white-space: pre; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: right;
  white-space: nowrap; } th:first-child, td:first-child { text-align: left; }
th { color: var(--soft); font-weight: 600; } td.best { color: var(--best); font-weight: 700; }
.notes { font-size: .85rem; }
"""
_PAINT = """
(() => {
  const paint = () => {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink").trim();
    const line = style.getPropertyValue("--line").trim();
    for (const chart of document.querySelectorAll(".js-plotly-plot")) {
      const change = { "font.color": ink };
      for (const name of Object.keys(chart.layout).filter((each) => /^[xy]axis/.test(each))) {
        change[name + ".gridcolor"] = line;
        change[name + ".linecolor"] = line;
      }
      Plotly.relayout(chart, change);
    }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  paint();
})();
"""


def render_page(
    measurements: Sequence[Measurement], *, title: str, command: str, notes: Sequence[str] = ()
) -> str:
    """Return the page about these measurements of one stream.

    Parameters
    ----------
    measurements
        At least one.
    title
        What it is, in a few words.
    command
        What the user typed to get it.
    notes
        Further remarks, a sentence each.
    """
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<code>{escape(command)}</code>",
        fact_list(measurement_facts(measurements)),
        measurement_table("Balance and memory", LOAD_COLUMNS, measurements),
    ]
    if have_queues(measurements):
        parts.append(measurement_table("Completion time", QUEUE_COLUMNS, measurements))
    parts += [f"<p>{escape(note)}</p>" for note in notes]
    parts += _measurement_charts(measurements)
    return whole_page(title, "\n".join(parts))


def whole_page(title: str, body: str) -> str:
    """Return the whole page around its body."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n<script>{_PAINT}</script>\n</body>\n</html>\n"
    )


def fact_list(named: Sequence[tuple[str, str]]) -> str:
    """Return names and texts, a line each."""
    lines = [f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in named]
    return f"<dl>{''.join(lines)}</dl>"


def measurement_table(
    title: str, columns: Sequence[Column[Row]], measurements: Sequence[Row]
) -> str:
    """Return a table with what its columns mean below it."""
    cells = [column.cells(measurements) for column in columns]
    rows = [
        [(each.label, False), *row]
        for each, row in zip(measurements, zip(*cells, strict=True), strict=True)
    ]
    notes = "; ".join(f"{each.title}: {each.meaning}" for each in columns)
    return html_table(title, ["grouping", *(each.title for each in columns)], rows, notes)


def html_table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[tuple[str, bool]]], notes: str
) -> str:
    """Return a table under a title; a cell is a text and whether it stands out."""
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(_cell(*cell) for cell in row)}</tr>" for row in rows)
    return (
        f'<h2>{escape(title)}</h2><div class="scroll"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody>\n"
        f'</table></div><p class="notes">{escape(notes)}.</p>'
    )


def _cell(text: str, best: bool) -> str:
    mark = ' class="best"' if best else ""
    return f"<td{mark}>{escape(text)}</td>"


def _measurement_charts(measurements: Sequence[Measurement]) -> list[str]:
    return [
        "<h2>Load of each worker</h2>",
        "<p>The dashed line is the mean: the nearer all come to it, the sooner all are done.</p>",
        to_div(loads_chart(measurements), "loads", with_library=True),
        "<h2>Imbalance over time</h2>",
        "<p>How far the busiest worker is above the mean, as rows come in. "
        "A line has a gap where it is exactly 0.</p>",
        to_div(imbalance_chart(measurements), "imbalance", with_library=False),
        "<h2>Balance against replication</h2>",
        "<p>Down is more even, left is less memory. An imbalance of 0 stands at the bottom.</p>",
        to_div(balance_chart(measurements), "balance", with_library=False),
    ]


def render_run(
    runs: Sequence[GroupingRun],
    *,
    title: str,
    command: str,
    facts: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return the page about a run of an application under one or more groupings.

    Parameters
    ----------
    runs
        At least one.
    title
        What it is, in a few words.
    command
        What the user typed to get it.
    facts
        Names and texts of what all groupings had in common.
    notes
        Further remarks, a sentence each.
    """
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<code>{escape(command)}</code>",
        fact_list(facts),
        measurement_table("Throughput, latency, balance and memory", RUN_COLUMNS, runs),
        *(f"<p>{escape(note)}</p>" for note in notes),
        *_run_charts(runs),
    ]
    return whole_page(title, "\n".join(parts))


def _run_charts(runs: Sequence[GroupingRun]) -> list[str]:
    return [
        "<h2>Rows of each worker</h2>",
        "<p>All measured micro-batches together; the dashed line is the mean.</p>",
        to_div(run_loads_chart(runs), "loads", with_library=True),
        "<h2>Time of each micro-batch</h2>",
        "<p>A micro-batch is done when its busiest worker is. The first ones warm up.</p>",
        to_div(batch_time_chart(runs), "batches", with_library=False),
        "<h2>Latency</h2>",
        "<p>How many rows had their result within so many seconds.</p>",
        to_div(waits_chart(runs), "waits", with_library=False),
    ]


def check_report(path: Path) -> None:
    """Raise unless a report can be drawn and written to ``path``; to be asked before a long run."""
    require_plotly()
    try:
        if path.is_dir():
            raise _refused_report("a file, not a directory", path)
        if path.exists() and not path.is_file():
            raise _refused_report("a regular file", path)
        if not path.resolve().parent.is_dir():
            raise _refused_report("in a directory that exists", path)
        # Asking for permissions is not enough: a disk may be mounted for reading only.
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass
        if path.exists() and not os.access(path, os.W_OK):
            raise _refused_report("a file that may be written", path)
    except OSError as error:
        expected = f"a path that can be written ({error.strerror})"
        raise _refused_report(expected, path) from None


def write_page(path: Path, page: str) -> None:
    """Write ``page`` so that ``path`` has all of it or stays as it was."""
    printable = page.encode("utf-8", "backslashreplace").decode()
    try:
        write_atomically(path.resolve(), printable)
    except OSError as error:
        raise UnskewError(f"report: could not write {path}: {error.strerror}.") from error


def _refused_report(expected: str, path: Path) -> InvalidParameterError:
    return InvalidParameterError("report", "path", expected, str(path))
