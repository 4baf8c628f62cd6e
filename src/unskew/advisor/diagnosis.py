"""All that a diagnosis says: the profile, the predictions and the recommendation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unskew.advisor.drawing import MOST_ROWS
from unskew.advisor.predict import COOKBOOK, MERGE, Prediction, predict
from unskew.advisor.profile import KeyProfile
from unskew.advisor.recommend import Recommendation, recommend
from unskew.groupings.base import Grouping


@dataclass(frozen=True)
class Diagnosis:
    """What was found out about a stream, and what to do.

    Parameters
    ----------
    stream
        What the data are.
    by
        The key column.
    workers, sources, work
        What was asked.
    profile, predictions, recommendation
        What was found.
    """

    stream: str
    by: str
    workers: int
    sources: int
    work: str
    profile: KeyProfile
    predictions: tuple[Prediction, ...]
    recommendation: Recommendation

    @property
    def cookbook(self) -> str:
        """The page of the documentation on what such work suffers from."""
        return f"docs/cookbook/{COOKBOOK[self.work]}"

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers and text under stable names."""
        return {
            "stream": self.stream,
            "by": self.by,
            "workers": self.workers,
            "sources": self.sources,
            "work": self.work,
            "profile": self.profile.to_json(),
            "predictions": [each.to_json() for each in self.predictions],
            "recommendation": self.recommendation.to_json(),
            "cookbook": self.cookbook,
        }


def diagnose(
    profile: KeyProfile,
    workers: int,
    *,
    stream: str = "",
    by: str | Sequence[str] = "key",
    sources: int = 1,
    work: str = MERGE,
    cost_per_row: float | None = None,
    batch: bool = False,
    groupings: Mapping[str, Grouping] | None = None,
    most_rows: int = MOST_ROWS,
    seed: int = 0,
    on_progress: Callable[[str, int], None] | None = None,
) -> Diagnosis:
    """Predict and recommend for keys that were profiled; see `predict` for the parameters.

    >>> profile = KeyProfile.from_counts(range(100), [5] * 100)
    >>> diagnose(profile, 2, work="builtin").recommendation.text
    "Do nothing: Spark's own aggregates combine rows before the shuffle."
    """
    predictions = predict(
        profile,
        workers,
        sources=sources,
        work=work,
        cost_per_row=cost_per_row,
        batch=batch,
        groupings=groupings,
        most_rows=most_rows,
        seed=seed,
        on_progress=on_progress,
    )
    advice = recommend(profile, predictions, work=work, workers=workers, by=by)
    named = by if isinstance(by, str) else ", ".join(by)
    return Diagnosis(stream, named, workers, sources, work, profile, tuple(predictions), advice)
