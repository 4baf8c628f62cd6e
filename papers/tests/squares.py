"""A small experiment of our own, to see what the framework does with it."""

from collections.abc import Sequence
from typing import Any

import pytest

from unskew_papers import registry
from unskew_papers.checks import Below, Near, Rises
from unskew_papers.claims import TEXT, Claim, Reason
from unskew_papers.experiment import SIMULATION, Experiment, Parameters, Unit
from unskew_papers.figures import Chart, Drawing, Lines
from unskew_papers.quantities import largest
from unskew_papers.rows import Row

_NOT_SMALL = Reason("They are not. Nine is not.", kind=TEXT)


class Squares:
    """Squares the numbers up to some; remembers which it was asked for, and can break down."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.breaks_at: int | None = None

    def units(self, parameters: Parameters) -> Sequence[Unit]:
        return [{"number": number} for number in range(parameters["upto"])]

    def run(self, unit: Unit, seed: int) -> Sequence[Row]:
        if unit["number"] == self.breaks_at:
            raise KeyboardInterrupt
        self.asked.append(unit["number"])
        return [{"number": unit["number"], "square": unit["number"] ** 2 + seed, "nothing": None}]

    def experiment(self, **changes: Any) -> Experiment:
        fields: dict[str, Any] = {
            "id": "999/fig1",
            "title": "Squares",
            "runs_on": SIMULATION,
            "data": "numbers",
            "sizes": {"smoke": {"upto": 4}, "paper": {"upto": 6}},
            "units": self.units,
            "run": self.run,
            "figure": Drawing(Chart("n", "n²", [Lines("number", "square", label="squares")])),
            "claims": (
                Claim("grows", "Squares grow.", "growing", Rises("square", "number")),
                Claim(
                    "small",
                    "Squares are small.",
                    "< 5",
                    Below(5, largest("square"), form="{}"),
                    _NOT_SMALL,
                ),
                Claim(
                    "five",
                    "The largest is five.",
                    "5",
                    Near(5, largest("square"), off=1, beyond="above", form="{}"),
                    _NOT_SMALL,
                ),
            ),
        }
        return Experiment(**{**fields, **changes})


def only_squares(monkeypatch: pytest.MonkeyPatch) -> Squares:
    """Make squares, and a second view of the same, all experiments that there are."""
    made = Squares()
    second = made.experiment(id="999/fig2", title="Squares again", rows_of="999/fig1")
    known = {each.id: each for each in (made.experiment(), second)}
    for module in ("registry", "running", "results"):
        monkeypatch.setattr(f"unskew_papers.{module}.all_experiments", lambda: known)
    assert registry.all_experiments() is known
    return made
