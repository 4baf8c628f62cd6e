"""What is claimed of throughput as the skew grows, in queues and on Spark alike."""

from unskew_papers.claims import Claim, Verdict
from unskew_papers.rows import Rows


def _remaining(rows: Rows, scheme: str) -> float:
    _, found = rows.curve("z", "throughput", scheme=scheme)
    return float(min(found) / found[0])


def _nearly_flat(rows: Rows) -> Verdict:
    left = _remaining(rows, "PStream")
    return Verdict(left >= 0.8, f"at least {left:.0%} of that at 0.5")


def _others_fall(rows: Rows) -> Verdict:
    left = {name: _remaining(rows, name) for name in ("KG", "DKG", "PKG")}
    measured = ", ".join(f"{name} {share:.0%}" for name, share in left.items())
    return Verdict(all(share <= 0.5 for share in left.values()), measured)


SKEW_CLAIMS = (
    Claim(
        "nearly-flat",
        "PStream's throughput hardly depends on the skew.",
        "nearly flat (here: at least 80 %)",
        _nearly_flat,
    ),
    Claim(
        "others-fall",
        "That of key grouping, DKG and PKG decreases sharply.",
        "sharply (here: to half or less)",
        _others_fall,
    ),
)
"""Of Figure 15; the rows have ``z``, ``scheme`` and ``throughput``."""
