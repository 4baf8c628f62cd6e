"""The page of the arena: a sentence per stream, and a picture of each front."""

import math
from collections.abc import Sequence
from html import escape

from unskew.reports.page import whole_page
from unskew.simulator.arena import LOAD, Bout, by_setting, front, sentence, standings

_WIDTH, _HEIGHT = 330, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 22, 34
_LEAST_IMBALANCE = 0.01  # percent; the place of all that are below, on a logarithmic axis
_LEAST_COPIES = 1e-4

EXPLANATION = (
    "λ: by how many percent the busiest worker exceeds the mean. Replication: workers that a key "
    f"is on, on average. p99: completion time of 99 % of the rows where {100 * LOAD:.0f} % of what "
    "the workers can do arrives, in times of the work on a row. ns: what routing a row takes, by "
    "the clock of the machine. On the front is who is not beaten in both λ and replication; "
    "schemes with a drawback, such as knowing all rows beforehand, are there to compare with."
)


def render_arena(bouts: Sequence[Bout], *, command: str) -> str:
    """Return the page about these bouts.

    Parameters
    ----------
    bouts
        At least one.
    command
        What the user typed to get it.
    """
    parts = [
        "<h1>The arena: who is on the front</h1>",
        f"<code>{escape(command)}</code>",
        f"<p>{escape(EXPLANATION)}</p>",
        "<h2>All streams</h2>",
        _standings_table(bouts),
    ]
    settings = by_setting(bouts)
    for stream in dict.fromkeys(each.stream for each in bouts):
        groups = {workers: group for (name, workers), group in settings.items() if name == stream}
        parts += [f"<h2>{escape(stream)}</h2>", f"<p>{escape(sentence(stream, bouts))}</p>"]
        parts += [draw_front(group, title=f"W = {workers:,}") for workers, group in groups.items()]
        parts += [_table(group, workers) for workers, group in groups.items()]
    return whole_page("The arena · unskew", "\n".join(parts))


def draw_front(bouts: Sequence[Bout], *, title: str) -> str:
    """Return λ against copies per key as a drawing: the front in colour, and by name."""
    best = front(bouts)
    xs = [_log_copies(each) for each in bouts]
    ys = [_log_imbalance(each) for each in bouts]
    x_ticks = range(math.floor(min(xs)), math.ceil(max(xs)) + 1)
    y_ticks = range(math.floor(min(ys)), math.ceil(max(ys)) + 1)
    x_low, x_span = x_ticks[0], max(1, x_ticks[-1] - x_ticks[0])
    y_low, y_span = y_ticks[0], max(1, y_ticks[-1] - y_ticks[0])

    def place(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + (x - x_low) / x_span * (_WIDTH - _LEFT - _RIGHT)
        down = _HEIGHT - _BOTTOM - (y - y_low) / y_span * (_HEIGHT - _TOP - _BOTTOM)
        return across, down

    drawn = [f'<text x="{_LEFT}" y="14" font-weight="600">{escape(title)}</text>']
    for tick in x_ticks:
        x, y = place(tick, y_low)
        drawn.append(f'<text x="{x:.1f}" y="{y + 13:.1f}" text-anchor="middle">1e{tick}</text>')
    for tick in y_ticks:
        x, y = place(x_low, tick)
        drawn.append(f'<path d="M{x:.1f} {y:.1f}H{_WIDTH - _RIGHT}" stroke="var(--line)"/>')
        drawn.append(f'<text x="{x - 4:.1f}" y="{y + 4:.1f}" text-anchor="end">1e{tick}</text>')
    drawn.append(
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 4}" text-anchor="middle">copies per key</text>'
        f'<text x="12" y="{_HEIGHT / 2}" transform="rotate(-90 12 {_HEIGHT / 2})" '
        'text-anchor="middle">λ in %</text>'
    )
    points = [place(_log_copies(each), _log_imbalance(each)) for each in best]
    if points:
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        drawn.append(f'<path d="M{line}" fill="none" stroke="var(--best)"/>')
    for each, x, y in zip(bouts, xs, ys, strict=True):
        across, down = place(x, y)
        other = "var(--soft)" if each.competes else "var(--line)"
        colour = "var(--best)" if each in best else other
        told = f"{each.grouping}: λ {each.imbalance_percent:.3g} %, {each.replication:.4g}"
        drawn.append(
            f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3.5" fill="{colour}">'
            f"<title>{escape(told)}</title></circle>"
        )
        if each in best:
            end = ' text-anchor="end"' if across > _WIDTH * 0.6 else ""
            shift = -6 if end else 6
            drawn.append(f'<text x="{across + shift:.1f}" y="{down - 5:.1f}"{end}>')
            drawn.append(f"{escape(each.grouping)}</text>")
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" '
        'fill="currentColor" font-size="10" role="img" '
        f'aria-label="λ against copies per key, {escape(title)}">{"".join(drawn)}</svg>'
    )


def _log_copies(bout: Bout) -> float:
    return math.log10(max(bout.replication - 1, _LEAST_COPIES))


def _log_imbalance(bout: Bout) -> float:
    return math.log10(max(bout.imbalance_percent, _LEAST_IMBALANCE))


def _standings_table(bouts: Sequence[Bout]) -> str:
    rows = [
        (
            each.grouping,
            f"{each.fronts} of {each.bouts}",
            f"{each.imbalance_percent:.3g}",
            f"{each.replication:.3f}",
            f"{each.p99:,.1f}",
            f"{each.ns_per_row:,.0f}",
        )
        for each in standings(bouts)
    ]
    return _html_table(("scheme", "on the front", "median λ %", "replication", "p99", "ns"), rows)


def _table(bouts: Sequence[Bout], workers: int) -> str:
    best = front(bouts)
    rows = [
        (
            each.grouping + (" *" if each in best else ""),
            f"{each.imbalance_percent:.3g}",
            f"{each.average_imbalance_fraction:.2g}",
            f"{each.replication:.4f}",
            f"{each.memory:,}",
            f"{each.p99:,.1f}",
            f"{each.ns_per_row:,.0f}",
        )
        for each in sorted(bouts, key=lambda each: (each not in best, each.imbalance_percent))
    ]
    titles = (f"W = {workers:,}", "λ %", "I/m", "replication", "memory", "p99", "ns")
    return f"<details><summary>W = {workers:,}</summary>{_html_table(titles, rows)}</details>"


def _html_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows
    )
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'
