"""What wrap promises on steady streams, as questions to the rows; written before they were."""

from collections.abc import Callable
from functools import partial

from unskew_papers.claims import Claim, Verdict
from unskew_papers.own.limits import Asked, settings, tally, verdict
from unskew_papers.rows import Row, Rows

WRAP = "wrap"
LEARNED = 0.2
"""Share of the rows that is learned from and not measured."""
LEARNED_AS_MANY = 0.5
PLANS = 40
"""Plans that follow the first one where wrap goes on learning."""
_FEW, _MANY = 100, 1000
"""Numbers of workers up to which the two limits of λ hold."""
_FEW_LIMIT, _MANY_LIMIT = 1.0, 3.0
_ENOUGH = 10_000
"""Messages that a worker is to expect where the limit for many workers is asked for."""
_POINTS = 1.0


def worst_and_mean(rows: Rows) -> tuple[float, float]:
    """Return wrap's largest λ in a setting, and the mean over its streams."""
    found = rows.values("imbalance", scheme=WRAP)
    return max(found), sum(found) / len(found)


def _balance(
    rows: Rows, learn: float, limit: float, among: Callable[[Row], bool], plans: int = 0
) -> Verdict:
    """Hold the worst of wrap's streams in each setting against a limit."""
    asked = []
    for where, here in settings(rows.where(learn=learn, plans=plans)):
        worst, mean = worst_and_mean(here)
        if among(here[0]):
            asked.append(Asked(f"{where} (mean {mean:.2f} %)", worst, limit))
    return verdict(asked, " %")


def _few(row: Row) -> bool:
    return bool(row["workers"] <= _FEW)


def _many(row: Row) -> bool:
    return bool(row["workers"] <= _MANY and row["rows"] / row["workers"] >= _ENOUGH)


def _many_of_all(row: Row) -> bool:
    everything = row["rows"] + row["learned"]
    return bool(row["workers"] <= _MANY and everything / row["workers"] >= _ENOUGH)


def _memory(rows: Rows) -> Verdict:
    asked = []
    for row in rows.where(scheme=WRAP, plans=0):
        where = f"{row['stream']}, W = {row['workers']}, stream {row['draw'] + 1}"
        asked.append(Asked(where, row["memory"] - row["keys"], row["workers"] - 1))
    return verdict(asked, " keys more than there are")


def _near_the_best(rows: Rows) -> Verdict:
    asked = []
    for where, here in settings(rows.where(learn=LEARNED, plans=0)):
        best = min(row["imbalance"] for row in here if row["scheme"] != WRAP)
        asked.append(Asked(where, worst_and_mean(here)[0] - best, _POINTS))
    return verdict(asked, " points")


def _replication(rows: Rows, plans: int = 0) -> Verdict:
    """Compare on the same rows with each scheme that has split a key there."""
    asked, wrong = 0, []
    for where, here in settings(rows.where(learn=LEARNED)):
        if not here.where(scheme=WRAP, plans=plans):
            continue
        own = here.value("replication", scheme=WRAP, draw=0, plans=plans)
        splitting = [row for row in here if row["scheme"] != WRAP and row["memory"] > row["keys"]]
        asked += len(splitting)
        wrong += [
            f"{row['scheme']} {row['replication']:.5f} against {own:.5f} ({where})"
            for row in splitting
            if not own < row["replication"]
        ]
    return Verdict(bool(asked) and not wrong, tally(asked, wrong, "comparisons"))


_FEW_SAYS = f"λ is at most {_FEW_LIMIT:g} % up to W = {_FEW}"
_MANY_SAYS = f"λ is at most {_MANY_LIMIT:g} % up to W = {_MANY}"
_LIGHT_KEYS = (
    "Zipf 0.1 to 0.5: where no key is heavy there is little that could flow from worker to worker, "
    "and what each gets has to be known from the rows that were learned from. n rows know a "
    "worker's load to about √(W / n), which is 0.7 % for W = 100 and a fifth of 10 million, 1.6 % "
    "for W = 500, and the fullest worker counts. With as many rows to learn from as are measured, "
    "or with plans that follow the stream, it is within or next to the limits, as the other "
    "readings show."
)
_FOLLOWING = f"planned anew {PLANS} times while the rows are measured"
_AS_MANY = "learned from as many rows as are then measured"

CLAIMS = (
    Claim(
        "one-percent",
        f"{_FEW_SAYS}, on every stream, the worst of three draws (our own).",
        f"λ ≤ {_FEW_LIMIT:g} %",
        partial(_balance, learn=LEARNED, limit=_FEW_LIMIT, among=_few),
        _LIGHT_KEYS,
    ),
    Claim(
        "three-percent",
        f"{_MANY_SAYS}, where a worker may expect {_ENOUGH:,} of the measured rows (our own).",
        f"λ ≤ {_MANY_LIMIT:g} %",
        partial(_balance, learn=LEARNED, limit=_MANY_LIMIT, among=_many),
        _LIGHT_KEYS,
    ),
    Claim(
        "three-percent-of-all",
        f"{_MANY_SAYS}, where a worker may expect {_ENOUGH:,} of all rows, those that are "
        "learned from among them (our own).",
        f"λ ≤ {_MANY_LIMIT:g} %",
        partial(_balance, learn=LEARNED, limit=_MANY_LIMIT, among=_many_of_all),
        f"{_LIGHT_KEYS} With W = 1000 a worker has 8,000 measured rows, whose own chance of 1.1 % "
        "is too much for Zipf 1.2 and 1.4, too.",
    ),
    Claim(
        "memory",
        "Workers hold at most W − 1 keys more than there are (our own).",
        "memory ≤ distinct keys + W − 1",
        _memory,
    ),
    Claim(
        "near-the-best",
        "On λ it is no worse than the best of all other schemes by more than a point (our own).",
        f"at most {_POINTS:g} point above",
        _near_the_best,
        f"{_LIGHT_KEYS} The best of the others has λ = 0, shuffle to begin with, so that for 500 "
        "and 1,000 workers this asks for more than the limit of 3 % does.",
    ),
    Claim(
        "replication",
        "Its replication is strictly below that of every scheme that splits keys (our own).",
        "below each, on the same rows",
        _replication,
        "Few keys (LN2 has 1,000, Zipf 2.0 4,000, LN1 15,000) and many workers, where W − 1 extra "
        "pieces are many. Partial-key and dynamic-key have fewer there because they are out of "
        "balance: of two workers that differ by much every row goes to the same one, so that few "
        "keys are cut. Their λ is more than a hundred times that of wrap.",
    ),
    Claim(
        "one-percent-as-many",
        f"{_FEW_SAYS}, {_AS_MANY} (our own, a finer reading).",
        f"λ ≤ {_FEW_LIMIT:g} %",
        partial(_balance, learn=LEARNED_AS_MANY, limit=_FEW_LIMIT, among=_few),
        "Zipf 0.1: 100,000 rows a worker have 0.3 % of chance, and so have those that were "
        "learned from. Where little can flow, the fullest of 100 is over two such deviations above "
        "the mean.",
    ),
    Claim(
        "three-percent-as-many",
        f"{_MANY_SAYS} where a worker may expect {_ENOUGH:,}, {_AS_MANY} (our own, a finer "
        "reading).",
        f"λ ≤ {_MANY_LIMIT:g} %",
        partial(_balance, learn=LEARNED_AS_MANY, limit=_MANY_LIMIT, among=_many),
        "A worker with 10,000 rows has 1 % of chance by these rows and as much by those that were "
        "learned from. Where no key is heavy little can flow, and the fullest of many workers is "
        "three such deviations above the mean.",
    ),
    Claim(
        "one-percent-following",
        f"{_FEW_SAYS}, {_FOLLOWING} (our own).",
        f"λ ≤ {_FEW_LIMIT:g} %",
        partial(_balance, learn=LEARNED, limit=_FEW_LIMIT, among=_few, plans=PLANS),
        "Zipf 0.1 and 0.3: what rows have by chance nobody can foresee. That is 0.9 % of the "
        "12,800 that each of 50 workers has of 640,000, 0.35 % of the 80,000 that each of 100 has "
        "of 8 million, and the fullest counts.",
    ),
    Claim(
        "three-percent-following",
        f"{_MANY_SAYS} where a worker may expect {_ENOUGH:,}, {_FOLLOWING} (our own).",
        f"λ ≤ {_MANY_LIMIT:g} %",
        partial(_balance, learn=LEARNED, limit=_MANY_LIMIT, among=_many, plans=PLANS),
    ),
    Claim(
        "replication-following",
        "Its replication, all places that a key has had under any plan, is strictly below that of "
        f"every scheme that splits keys, {_FOLLOWING} (our own).",
        "below each, on the same rows",
        partial(_replication, plans=PLANS),
        "Popularity splits hardly any key where none is popular, and is as uneven there as plain "
        "hashing.",
    ),
)
