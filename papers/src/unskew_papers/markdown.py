"""The table of claims as Markdown, for the documents."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from unskew_papers.page import PAPERS, UNEXPLAINED, kinds, paper_of, tally


def render_markdown(summaries: Sequence[dict[str, Any]], command: str) -> str:
    """Return the claims of all results, paper by paper, and the command that wrote them."""
    parts = [
        "# Which claims of the papers hold",
        f"{tally(summaries)} Written by `{command}`; `unskew reproduce --list` says what there is, "
        "`unskew reproduce all` runs it. A claim was written down from the paper before the run; "
        "one that does not hold stays here with the reason.",
        "\n".join(f"- {line}" for line in kinds(summaries)),
    ]
    for paper, members in groupby(summaries, key=paper_of):
        parts.append(f"## {paper}: {PAPERS.get(paper, '')}")
        parts += [_section(each) for each in members]
    return "\n\n".join(parts) + "\n"


def _section(summary: dict[str, Any]) -> str:
    lines = [
        f"### {summary['id']} · {summary['title']}",
        "",
        f"{summary['runs_on']}, size {summary['size']}, seed {summary['seed']}. "
        f"Data: {summary['data']}",
        "",
    ]
    if summary["claims"]:
        lines += ["| | the paper says | its figure | measured |", "|---|---|---|---|"]
    for each in summary["claims"]:
        mark = "✓" if each["holds"] else "✗"
        says = each["says"]
        if not each["holds"]:
            says += f" *{each['explanation'] or UNEXPLAINED}*"
        cells = (mark, says, each["paper"], each["measured"])
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines).rstrip()
