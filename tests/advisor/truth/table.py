"""Compare what `--history` names with the truth: ``python -m tests.advisor.truth.table``.

Prints the confusion table of docs/history.md; with ``--write`` it puts it there.
"""

import sys
from collections import Counter
from pathlib import Path

from tests.advisor.truth.jobs import CASES, HELD_OUT, NOTHING
from tests.advisor.truth.make import WARM_UP, log_of

from unskew.advisor.history import StageReport, read_history

PAGE = Path(__file__).parents[3] / "docs" / "history.md"
_BEGIN, _END = "<!-- truth: begin -->\n", "<!-- truth: end -->\n"


def stages_of(name: str) -> list[StageReport]:
    """Return the stages of a job, without those of its preparation."""
    stages = read_history(log_of(name), top=100).stages
    return [stage for stage in stages if stage.name != WARM_UP]


def named(name: str) -> str:
    """Return the cause that the worst stage of a job is said to have, or `NOTHING`."""
    stages = stages_of(name)
    told = [each.advice for each in stages if not each.advice.hint.startswith("Do nothing:")]
    return told[0].cause if told else NOTHING


def confusion() -> str:
    """Return the table in Markdown: a row per truth, a column per cause that was named."""
    found = {name: named(name) for name in CASES}
    pairs = Counter((case.cause, found[name]) for name, case in CASES.items())
    kinds = sorted({*(case.cause for case in CASES.values()), *found.values()})
    rows = [["truth", *kinds], ["---"] * (len(kinds) + 1)]
    rows += [[f"`{truth}`", *(str(pairs[truth, kind] or "") for kind in kinds)] for truth in kinds]
    right = sum(found[name] == case.cause for name, case in CASES.items())
    held = sum(found[name] == CASES[name].cause for name in HELD_OUT)
    lines = [f"| {' | '.join(row)} |" for row in rows]
    wrong = [
        f"- {name}: `{case.cause}`, named `{found[name]}`"
        for name, case in CASES.items()
        if found[name] != case.cause
    ]
    told = f"{right} of {len(CASES)} are named rightly, {held} of the {len(HELD_OUT)} kept out."
    return "\n".join([*lines, "", told, *wrong, ""])


def main(arguments: list[str]) -> None:
    """Print the table, or write it into the page."""
    if "--write" in arguments:
        text = PAGE.read_text()
        begin, rest = text.split(_BEGIN)
        PAGE.write_text(begin + _BEGIN + confusion() + _END + rest.split(_END)[1])
    else:
        print(confusion())


if __name__ == "__main__":
    main(sys.argv[1:])
