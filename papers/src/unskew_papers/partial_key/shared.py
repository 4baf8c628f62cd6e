"""What the experiments of this paper have in common."""

from unskew_papers.figure import Curve, Figure, Panel, lines
from unskew_papers.rows import Rows
from unskew_papers.spec import Parameters, Unit

FRACTION = "fraction of average imbalance"
BALANCED = 1e-3
"""The paper calls imbalance negligible or large and gives no limit; its Table 2 has 1.9e-5 and
less for what it calls balanced and 3.4e-3 and more for what it does not."""
ZIPF_DATA = "synthetic, as in the paper: ZF with the published parameters"
ORDER_OF_MAGNITUDE = 10.0


def sets_by_workers(parameters: Parameters, names: list[str]) -> list[Unit]:
    """Cut the work into one unit a data set and number of workers."""
    return [
        {
            "data": name,
            "workers": workers,
            "rows": parameters["rows"],
            "keys": parameters["keys"],
        }
        for name in names
        for workers in parameters["workers"]
    ]


def panel_a_set(
    rows: Rows, curve: str, x: str = "workers", *, x_title: str = "workers W"
) -> Figure:
    """Draw the fraction of average imbalance, a panel a data set, a line a value of ``curve``."""
    panels = []
    for data in rows.distinct("data"):
        curves: list[Curve] = lines(
            [
                (str(name), rows.curve(x, "fraction", **{"data": data, curve: name}))
                for name in rows.distinct(curve)
            ]
        )
        panels.append(Panel(x_title, FRACTION, curves, title=data, log_y=True))
    return Figure(panels)
