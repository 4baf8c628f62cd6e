"""A small drawing of what each worker got, for notebooks: plain SVG, which needs no library."""

from collections.abc import Sequence

_MOST_BARS = 200
_WIDTH, _HEIGHT = 480.0, 80.0


def bars_of(loads: Sequence[float], what: str) -> str:
    """Return a bar per worker, a line at their mean, and what it is; nothing without any load.

    >>> html = bars_of([30, 10], "rows per worker")
    >>> html.count("<rect"), "rows per worker; dashed: their mean" in html
    (2, True)
    >>> bars_of([0, 0], "rows per worker")
    ''
    """
    top = max(loads, default=0.0)
    if top <= 0.0:
        return ""
    shown = loads[:_MOST_BARS]
    step = _WIDTH / len(shown)
    bars = "".join(
        f'<rect x="{step * at:.1f}" y="{_HEIGHT * (1 - load / top):.1f}" width="{0.8 * step:.1f}" '
        f'height="{_HEIGHT * load / top:.1f}"><title>worker {at}: {load:,.6g}</title></rect>'
        for at, load in enumerate(shown)
    )
    mean = _HEIGHT * (1 - sum(loads) / len(loads) / top)
    line = f'<path d="M0 {mean:.1f}H{_WIDTH:.0f}" stroke="currentColor" stroke-dasharray="4"/>'
    of = "" if len(shown) == len(loads) else f", the first {len(shown)} of {len(loads)}"
    return (
        f'<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" width="{_WIDTH:.0f}" fill="#4c78a8" '
        f'role="img" aria-label="{what}">{bars}{line}</svg>'
        f"<div><small>{what}{of}; dashed: their mean</small></div>"
    )
