"""All results as one page with every figure and claim, or the claims as Markdown."""

import base64
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby
from typing import Any

from unskew_papers.claims import KINDS
from unskew_papers.experiment import RUNS_ON
from unskew_papers.registry import SCHEMES
from unskew_papers.results import FIGURE

UNEXPLAINED = "not explained yet"
MARKS = {"holds": "✓", "overshoots": "▲", "fails": "✗"}
"""What stands before a claim; one that overshoots is more than published, so not reproduced."""
_MOST_GISTS, _MOST_FIGURES, _FEW_FIGURES = 4, 12, 3
Summary = dict[str, Any]
# The policy lets the browser itself refuse whatever would go to the network.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --ink: #22262b; --soft: #666d76;
  --line: #dcdfe4; --good: #1a7f4b; --bad: #c0392b;
  --more: #9a6a00; }
@media (prefers-color-scheme: dark) { :root { --page: #15181c; --ink: #e3e6ea; --soft: #99a1ab;
  --line: #343a42; --good: #5fd39a; --bad: #ff7b72;
  --more: #e3b341; } }
body { background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  max-width: 1160px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
h3 { font-size: 1rem; margin: 2rem 0 .2rem; } p { margin: .2rem 0 .6rem; color: var(--soft); }
img { background: #ffffff; border: 1px solid var(--line); border-radius: 6px; max-width: 100%; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left;
  vertical-align: top; } th { color: var(--soft); font-weight: 600; }
.holds { color: var(--good); font-weight: 700; } .fails { color: var(--bad); font-weight: 700; }
.overshoots { color: var(--more); font-weight: 700; }
nav { columns: 3; }
"""


def render_page(summaries: Sequence[Summary]) -> str:
    """Return the page about these results, as `results.read_all` returns them."""
    title = "The papers' claims · unskew"
    body = [
        f"<h1>{title}</h1>",
        f"<p>{tally(summaries)}</p>",
        f"<p>{'<br>'.join(escape(line) for line in kinds(summaries))}</p>",
        _contents(summaries),
    ]
    for paper, members in by_paper(summaries):
        body.append(f"<h2>{paper}: {escape(SCHEMES.get(paper, ''))}</h2>")
        body.append("".join(f"<p>{escape(line)}</p>" for line in in_short(members)))
        reasons = Reasons(members)
        body += [_section(each, reasons) for each in members]
        body.append(_reasons_list(paper, reasons))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{chr(10).join(body)}\n</body>\n</html>\n"
    )


def by_paper(summaries: Sequence[Summary]) -> Iterable[tuple[str, list[Summary]]]:
    """Return the results of each paper, by the name of its scheme."""
    for paper, members in groupby(summaries, key=lambda each: str(each["id"]).partition("/")[0]):
        yield paper, list(members)


def verdict_of(claim: dict[str, Any]) -> str:
    """Return whether a claim ``holds``, ``overshoots`` or ``fails``.

    >>> verdict_of({"holds": False, "overshoots": True})
    'overshoots'
    """
    return "holds" if claim["holds"] else "overshoots" if claim["overshoots"] else "fails"


def tally(summaries: Sequence[Summary]) -> str:
    """Say how many claims hold.

    >>> tally([{"claims": [{"holds": True}, {"holds": False, "overshoots": True}]}])
    '1 of 2 claims hold, 1 overshoots (more than published), 0 fail; 1 table or figure.'
    """
    verdicts = Counter(verdict_of(claim) for each in summaries for claim in each["claims"])
    overshoots, count = verdicts["overshoots"], len(summaries)
    return (
        f"{verdicts['holds']} of {verdicts.total()} claims hold, {overshoots} "
        f"overshoot{'s' if overshoots == 1 else ''} (more than published), {verdicts['fails']} "
        f"fail; {count} {'table or figure' if count == 1 else 'tables and figures'}."
    )


def kinds(summaries: Sequence[Summary]) -> list[str]:
    """Say what results run on, and how many on each.

    >>> kinds([{"runs_on": "simulation"}])
    ['1 on simulation: rows are placed and counted, nothing has a clock.']
    """
    counts = {name: sum(each["runs_on"] == name for each in summaries) for name in RUNS_ON}
    return [
        f"{counts[name]} on {name}: {meaning}." for name, meaning in RUNS_ON.items() if counts[name]
    ]


def in_short(members: Sequence[Summary]) -> list[str]:
    """Say of one paper what holds, and by which kinds of reasons the rest does not.

    >>> claim = {"holds": False, "overshoots": False, "reasons": [
    ...     {"text": "Cold. More.", "gist": "Cold.", "kind": "text", "shown_by": None}]}
    >>> for line in in_short([{"id": "own/a", "claims": [claim]}]):
    ...     print(line)
    0 of 1 claims hold, 0 overshoot (more than published), 1 fail; 1 table or figure.
    What the authors' own set-up, text or programs contradict: Cold (a).
    """
    lines = [tally(members)]
    whole = [_figure_of(each) for each in members if all(c["holds"] for c in each["claims"])]
    if whole:
        lines.append(f"Everything holds in {_named(whole, _MOST_FIGURES)}.")
    for kind, title in KINDS.items():
        where: dict[str, list[str]] = {}
        for each in members:
            for reason in _reasons_in([each]):
                if reason["kind"] == kind:
                    where.setdefault(reason["gist"].rstrip("."), []).append(_figure_of(each))
        gists = sorted(where.items(), key=lambda item: -len(item[1]))
        if gists:
            texts = [f"{gist} ({_named(figures, _FEW_FIGURES)})" for gist, figures in gists]
            lines.append(f"{title[0].upper()}{title[1:]}: {_named(texts, _MOST_GISTS, '; ')}.")
    return lines


def _named(names: Sequence[str], most: int, between: str = ", ") -> str:
    """Name some, and say how many more there are.

    >>> _named(["a", "b"], 2), _named(["a", "b", "c", "d"], 2)
    ('a, b', 'a, b and 2 more')
    """
    more = len(names) - most
    return between.join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _figure_of(summary: Summary) -> str:
    return str(summary["id"]).partition("/")[2]


def _reasons_in(members: Iterable[Summary]) -> list[dict[str, Any]]:
    """Return each reason that a claim gives, once, in the order in which they come."""
    found = {
        reason["text"]: reason
        for each in members
        for claim in each["claims"]
        for reason in claim["reasons"]
    }
    return list(found.values())


class Reasons:
    """The reasons of a paper, numbered, so that each is stated once."""

    def __init__(self, members: Sequence[Summary]) -> None:
        self.stated = _reasons_in(members)
        self._numbers = {each["text"]: number for number, each in enumerate(self.stated, 1)}

    def of(self, claim: dict[str, Any]) -> list[int]:
        """Return the numbers of a claim's reasons."""
        return [self._numbers[each["text"]] for each in claim["reasons"]]


def shown(reason: dict[str, Any]) -> str:
    """Say what shows a reason."""
    return f"Shown by `{reason['shown_by']}`." if reason["shown_by"] else "Argued, not shown."


def _contents(summaries: Sequence[Summary]) -> str:
    links = []
    for each in summaries:
        marks = "".join(_mark(claim) for claim in each["claims"])
        name = f'<a href="#{each["id"]}">{each["id"]}</a>'
        links.append(f"{name} {marks} <small>{escape(each['runs_on'])}</small><br>")
    return f"<nav>{''.join(links)}</nav>"


def _mark(claim: dict[str, Any]) -> str:
    verdict = verdict_of(claim)
    return f'<span class="{verdict}">{MARKS[verdict]}</span>'


def _section(summary: Summary, reasons: Reasons) -> str:
    parameters = ", ".join(f"{name} = {value}" for name, value in summary["parameters"].items())
    facts = (
        f"Runs on: {summary['runs_on']} · size: {summary['size']} · seed: {summary['seed']} · "
        f"unskew {summary['versions']['unskew']}"
    )
    return (
        f'<h3 id="{summary["id"]}">{summary["id"]} · {escape(summary["title"])}</h3>\n'
        f"<p>{escape(facts)}<br>Data: {escape(summary['data'])}<br>{escape(parameters)}</p>\n"
        f"{_image(summary)}\n{_claims(summary, reasons)}"
    )


def _image(summary: Summary) -> str:
    path = summary["folder"] / FIGURE
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return f'<img alt="{escape(summary["title"])}" src="data:image/svg+xml;base64,{data}">'


def _claims(summary: Summary, reasons: Reasons) -> str:
    if not summary["claims"]:
        return ""
    paper = summary["id"].partition("/")[0]
    rows = []
    for each in summary["claims"]:
        links = [f'<a href="#{paper}-reason-{n}">{n}</a>' for n in reasons.of(each)]
        reason = "" if each["holds"] else f"<br><i>{_reason_text(links)}</i>"
        rows.append(
            f"<tr><td>{_mark(each)}</td><td>{escape(each['says'])}{reason}</td>"
            f"<td>{escape(each['paper'])}</td><td>{escape(each['measured'])}</td></tr>"
        )
    head = "<tr><th></th><th>the paper says</th><th>its figure</th><th>measured</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _reason_text(links: Sequence[str]) -> str:
    """Say which reasons a claim has.

    >>> _reason_text(["2", "5"]), _reason_text([])
    ('Reasons 2, 5.', 'Not explained yet.')
    """
    if not links:
        return f"{UNEXPLAINED.capitalize()}."
    return f"Reason{'s' if len(links) > 1 else ''} {', '.join(links)}."


def _reasons_list(paper: str, reasons: Reasons) -> str:
    items = [
        f'<li id="{paper}-reason-{number}">{escape(each["text"])} <i>{escape(shown(each))}</i></li>'
        for number, each in enumerate(reasons.stated, 1)
    ]
    return f"<h3>Reasons</h3>\n<ol>{''.join(items)}</ol>" if items else ""


def render_markdown(summaries: Sequence[Summary], command: str) -> str:
    """Return the claims of all results, paper by paper, and the command that wrote them."""
    parts = [
        "# Which claims of the papers hold",
        f"{tally(summaries)} Written by `{command}`; `unskew reproduce --list` says what there is, "
        "`unskew reproduce all` runs it. A claim was written down from the paper before the run; "
        f"{MARKS['holds']} it holds, {MARKS['overshoots']} there is more of it than published "
        f"(a gain of 250 % does not reproduce one of 93 %), {MARKS['fails']} it does not hold. "
        "Every claim that does not hold names its reason, which is stated once per paper with the "
        "test or command that shows it.",
        "## In a minute",
    ]
    for paper, members in by_paper(summaries):
        lines = "\n".join(f"- {line}" for line in in_short(members))
        parts.append(f"**[{paper}](#{paper})**\n\n{lines}")
    parts.append("Where it was measured:")
    parts.append("\n".join(f"- {line}" for line in kinds(summaries)))
    for paper, members in by_paper(summaries):
        reasons = Reasons(members)
        parts.append(f'## <a id="{paper}"></a>{paper}: {SCHEMES.get(paper, "")}')
        parts += [_markdown_section(each, reasons) for each in members]
        if reasons.stated:
            items = [
                f'{number}. <a id="{paper}-reason-{number}"></a>{each["text"]} *{shown(each)}*'
                for number, each in enumerate(reasons.stated, 1)
            ]
            parts += [f"### Reasons: {paper}", "\n".join(items)]
    return "\n\n".join(parts) + "\n"


def _markdown_section(summary: Summary, reasons: Reasons) -> str:
    paper = summary["id"].partition("/")[0]
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
        says = each["says"]
        if not each["holds"]:
            links = [f"[{number}](#{paper}-reason-{number})" for number in reasons.of(each)]
            says += f" *{_reason_text(links)}*"
        cells = (MARKS[verdict_of(each)], says, each["paper"], each["measured"])
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines).rstrip()
