"""Files that an experiment leaves: rows as CSV, the figure as SVG, verdicts and facts as JSON."""

import csv
import io
import json
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import unskew_papers
from unskew import __version__
from unskew.reports.page import write_page
from unskew_papers.experiment import SIZES, SPARK, Experiment, Parameters
from unskew_papers.registry import all_experiments
from unskew_papers.rows import Rows
from unskew_papers.svg import to_svg

_LIBRARIES = ("numpy", "numba", "pyarrow")
ROWS, FIGURE, RESULT, UNITS = "rows.csv", "figure.svg", "result.json", "units.jsonl"


def folder_of(out: Path, experiment_id: str, size: str) -> Path:
    """Return where the results of an experiment lie."""
    return out / experiment_id / size


def versions(experiment: Experiment) -> dict[str, str]:
    """Return the versions of what made the rows."""
    names = [*_LIBRARIES, "pyspark"] if experiment.runs_on == SPARK else _LIBRARIES
    found = {
        "unskew": __version__,
        "unskew-papers": unskew_papers.__version__,
        "python": platform.python_version(),
    }
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def summarize(
    experiment: Experiment, size: str, seed: int, parameters: Parameters, rows: Rows
) -> dict[str, Any]:
    """Return all that is to say of a finished run, without its rows."""
    return {
        "id": experiment.id,
        "title": experiment.title,
        "runs_on": experiment.runs_on,
        "data": experiment.data,
        "size": size,
        "seed": seed,
        "parameters": dict(parameters),
        "versions": versions(experiment),
        "claims": experiment.judge(rows),
    }


def write(folder: Path, experiment: Experiment, summary: dict[str, Any], rows: Rows) -> None:
    """Write the three files, each whole or not at all; the one with the verdicts comes last."""
    folder.mkdir(parents=True, exist_ok=True)
    write_page(folder / ROWS, _as_csv(rows))
    write_page(folder / FIGURE, to_svg(experiment.figure(rows)))
    text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False)
    write_page(folder / RESULT, text + "\n")


def read_all(out: Path) -> list[dict[str, Any]]:
    """Return the summaries in a results folder, with their folders, in the order of the papers.

    Where both sizes are there, the larger one counts.
    """
    found = []
    for name in all_experiments():
        for size in reversed(SIZES):
            folder = folder_of(out, name, size)
            if (folder / RESULT).exists():
                summary = json.loads((folder / RESULT).read_text(encoding="utf-8"))
                found.append({**summary, "folder": folder})
                break
    return found


def _as_csv(rows: Rows) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, rows.columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
