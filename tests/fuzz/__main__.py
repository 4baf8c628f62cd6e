"""Fuzz readers and compiled loops: ``make fuzz``, or ``python -m tests.fuzz --help``."""

import argparse
import hashlib
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random
from types import FrameType

from tests.fuzz.mutations import mutated
from tests.fuzz.targets import TARGETS, Target, run

_SECONDS_PER_CASE = 10.0
_MEMORY = 6 << 30
_FOUND = Path("fuzz-found")


class TooSlowError(BaseException):
    """A case took longer than any may; no ``except Exception`` catches it."""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise TooSlowError(f"longer than {_SECONDS_PER_CASE:g} s")


def main() -> int:
    """Try cases until the time or their number is up; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    names = [target.name for target in TARGETS]
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to try")
    parser.add_argument("--cases", type=int, help="stop after so many cases")
    parser.add_argument("--seed", type=int, default=1, help="picks the cases")
    parser.add_argument("--only", choices=names, action="append", help="one target or several")
    parser.add_argument("--input", type=Path, help="one case again, of the one target given")
    given = parser.parse_args()
    targets = [target for target in TARGETS if not given.only or target.name in given.only]
    signal.signal(signal.SIGALRM, _stop)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    if given.input is not None:
        return 0 if _holds(targets[0], given.input.read_bytes(), show=True) else 1
    return _fuzz(targets, Random(given.seed), given.seconds, given.cases)


def _fuzz(targets: list[Target], random: Random, seconds: float, most: int | None) -> int:
    tried: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    corpora = {target.name: target.corpus() for target in targets}
    for target in targets:
        for sample in corpora[target.name]:
            tried[target.name] += 1
            failed[target.name] += not _holds(target, sample)
    until = time.monotonic() + seconds
    while time.monotonic() < until and (most is None or tried.total() < most):
        for target in targets:
            samples = corpora[target.name]
            data = mutated(random, random.choice(samples), samples)
            tried[target.name] += 1
            failed[target.name] += not _holds(target, data)
    for name, count in tried.items():
        sys.stdout.write(f"{name:16} {count:9,} cases  {failed[name]:,} failed\n")
    sys.stdout.write(f"{tried.total():,} cases, {failed.total():,} failed\n")
    return 1 if failed.total() else 0


def _holds(target: Target, data: bytes, *, show: bool = False) -> bool:
    signal.setitimer(signal.ITIMER_REAL, _SECONDS_PER_CASE)
    try:
        run(target, data)
    except (Exception, TooSlowError) as error:
        signal.setitimer(signal.ITIMER_REAL, 0)
        _FOUND.mkdir(exist_ok=True)
        file = _FOUND / f"{target.name}-{hashlib.sha256(data).hexdigest()[:12]}"
        file.write_bytes(data)
        where = "; ".join(
            f"{Path(frame.filename).name}:{frame.lineno}"
            for frame in traceback.extract_tb(error.__traceback__)[-3:]
        )
        again = f"python -m tests.fuzz --only {target.name} --input {file}"
        text = f"{type(error).__name__}: {str(error)[:200]} ({where})"
        sys.stdout.write(f"FAILED {target.name}: {text}\n  {again}\n")
        if show:
            traceback.print_exception(error)
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return True


if __name__ == "__main__":
    sys.exit(main())
