"""All results as one page with every figure and claim, or the claims as Markdown."""

import base64
from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import Any

from unskew_papers.experiment import RUNS_ON
from unskew_papers.registry import SCHEMES
from unskew_papers.results import FIGURE

UNEXPLAINED = "not explained yet"
# The policy lets the browser itself refuse whatever would go to the network.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --ink: #22262b; --soft: #666d76;
  --line: #dcdfe4; --good: #1a7f4b; --bad: #c0392b; }
@media (prefers-color-scheme: dark) { :root { --page: #15181c; --ink: #e3e6ea; --soft: #99a1ab;
  --line: #343a42; --good: #5fd39a; --bad: #ff7b72; } }
body { background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  max-width: 1160px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
h3 { font-size: 1rem; margin: 2rem 0 .2rem; } p { margin: .2rem 0 .6rem; color: var(--soft); }
img { background: #ffffff; border: 1px solid var(--line); border-radius: 6px; max-width: 100%; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left;
  vertical-align: top; } th { color: var(--soft); font-weight: 600; }
.good { color: var(--good); font-weight: 700; } .bad { color: var(--bad); font-weight: 700; }
nav { columns: 3; }
"""


def render_page(summaries: Sequence[dict[str, Any]]) -> str:
    """Return the page about these results, as `results.read_all` returns them."""
    title = "The papers' claims · unskew"
    body = [
        f"<h1>{title}</h1>",
        f"<p>{tally(summaries)}</p>",
        f"<p>{'<br>'.join(escape(line) for line in kinds(summaries))}</p>",
        _contents(summaries),
    ]
    for paper, members in groupby(summaries, key=paper_of):
        body.append(f"<h2>{paper}: {escape(SCHEMES.get(paper, ''))}</h2>")
        body += [_section(each) for each in members]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{chr(10).join(body)}\n</body>\n</html>\n"
    )


def paper_of(summary: dict[str, Any]) -> str:
    """Return the scheme whose paper a result belongs to."""
    return str(summary["id"]).partition("/")[0]


def tally(summaries: Sequence[dict[str, Any]]) -> str:
    """Say how many claims hold.

    >>> tally([{"claims": [{"holds": True}, {"holds": False}]}])
    '1 of 2 claims hold, over 1 tables and figures.'
    """
    verdicts = [claim["holds"] for each in summaries for claim in each["claims"]]
    return (
        f"{sum(verdicts)} of {len(verdicts)} claims hold, over {len(summaries)} tables and figures."
    )


def kinds(summaries: Sequence[dict[str, Any]]) -> list[str]:
    """Say what results run on, and how many on each.

    >>> kinds([{"runs_on": "simulation"}])
    ['1 on simulation: rows are placed and counted, nothing has a clock.']
    """
    counts = {name: sum(each["runs_on"] == name for each in summaries) for name in RUNS_ON}
    return [
        f"{counts[name]} on {name}: {meaning}." for name, meaning in RUNS_ON.items() if counts[name]
    ]


def _contents(summaries: Sequence[dict[str, Any]]) -> str:
    links = []
    for each in summaries:
        marks = "".join(_mark(claim["holds"]) for claim in each["claims"])
        name = f'<a href="#{each["id"]}">{each["id"]}</a>'
        links.append(f"{name} {marks} <small>{escape(each['runs_on'])}</small><br>")
    return f"<nav>{''.join(links)}</nav>"


def _mark(holds: bool) -> str:
    return '<span class="good">✓</span>' if holds else '<span class="bad">✗</span>'


def _section(summary: dict[str, Any]) -> str:
    parameters = ", ".join(f"{name} = {value}" for name, value in summary["parameters"].items())
    facts = (
        f"Runs on: {summary['runs_on']} · size: {summary['size']} · seed: {summary['seed']} · "
        f"unskew {summary['versions']['unskew']}"
    )
    return (
        f'<h3 id="{summary["id"]}">{summary["id"]} · {escape(summary["title"])}</h3>\n'
        f"<p>{escape(facts)}<br>Data: {escape(summary['data'])}<br>{escape(parameters)}</p>\n"
        f"{_image(summary)}\n{_claims(summary['claims'])}"
    )


def _image(summary: dict[str, Any]) -> str:
    path = summary["folder"] / FIGURE
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return f'<img alt="{escape(summary["title"])}" src="data:image/svg+xml;base64,{data}">'


def _claims(claims: Sequence[dict[str, Any]]) -> str:
    if not claims:
        return ""
    rows = []
    for each in claims:
        reason = f"<br><i>{escape(each['explanation'] or UNEXPLAINED)}</i>"
        rows.append(
            f"<tr><td>{_mark(each['holds'])}</td>"
            f"<td>{escape(each['says'])}{'' if each['holds'] else reason}</td>"
            f"<td>{escape(each['paper'])}</td><td>{escape(each['measured'])}</td></tr>"
        )
    head = "<tr><th></th><th>the paper says</th><th>its figure</th><th>measured</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


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
        parts.append(f"## {paper}: {SCHEMES.get(paper, '')}")
        parts += [_markdown_section(each) for each in members]
    return "\n\n".join(parts) + "\n"


def _markdown_section(summary: dict[str, Any]) -> str:
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
