"""How long a second ``unskew simulate`` takes, start-up included."""

import subprocess
import sys

from benchmarks._timing import interleaved, show

_SIMULATE = [
    *("-m", "unskew", "simulate", "--grouping", "partial-key", "--workers", "10", "--sources", "5"),
    *("--stream", "zipf:keys=100000,exponent=1.2,rows=1000000", "--seed", "1", "--json"),
]


def main(rounds: int = 5) -> None:
    """Time whole processes; the baseline is a Python that only imports Numba and PyArrow."""
    seconds = interleaved(
        {
            "import numba, pyarrow": lambda: _python("-c", "import numba, pyarrow"),
            "unskew --help": lambda: _python("-m", "unskew", "--help"),
            "unskew simulate, a million rows": lambda: _python(*_SIMULATE),
        },
        rounds,
    )
    base = seconds["import numba, pyarrow"]
    rows = [[name, f"{took:.2f}", f"{took / base:.1f}"] for name, took in seconds.items()]
    show("whole processes, loops compiled before", ["command", "seconds", "× import"], rows)


def _python(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


if __name__ == "__main__":
    main()
