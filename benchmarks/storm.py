"""Apache Storm's own PartialKeyGrouping and LoadAwareShuffleGrouping beside ours, on the same keys.

Storm's classes come from Maven Central and are called as its executors call them, one tuple after
the other; ours get arrays. Tuples per second of CPU time, in one thread each, is what either side
can route; tuples are made beforehand on both sides.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from tests.maven_jars import NoJarsError, maven_jars

from benchmarks._timing import show
from unskew.groupings.registry import make_grouping
from unskew.metrics import imbalance_percent
from unskew.streams import parse_stream

STORM = "2.6.4"
WORKERS, ROUNDS = 20, 5
STREAM = "zipf:keys=100000,exponent={exponent},rows={rows}"
ROWS, EXPONENTS = 2_000_000, (0.8, 1.2, 1.6)
NAMES = ("partial-key", "load-aware")
_PROGRAM = Path(__file__).parent / "storm_peers" / "StormPeers.java"


def main(rows: int = ROWS, rounds: int = ROUNDS) -> None:
    """Route Zipf streams by both sides; says why not where Java or Storm cannot be had."""
    try:
        jars = maven_jars("storm", [f"org.apache.storm:storm-client:{STORM}"])
    except NoJarsError as error:
        print(f"storm: {error}")
        return
    table = []
    with tempfile.TemporaryDirectory() as folder:
        path = ":".join([*map(str, jars), folder])
        javac, java = shutil.which("javac") or "javac", shutil.which("java") or "java"
        subprocess.run([javac, "-cp", path, "-d", folder, str(_PROGRAM)], check=True)  # noqa: S603
        for exponent in EXPONENTS:
            spec = STREAM.format(exponent=exponent, rows=rows)
            keys = np.concatenate([one.keys for one in parse_stream(spec, seed=1).batches()])
            (Path(folder) / "keys").write_bytes(keys.astype("<i8").tobytes())
            command = [java, "-cp", path, "StormPeers", f"{folder}/keys", f"{WORKERS}", f"{rounds}"]
            done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
            lines = [line.split() for line in done.stdout.splitlines()]
            theirs = {line[0]: line for line in lines if line[0] in NAMES}
            for name in NAMES:
                seconds, loads = float(theirs[name][1]), np.array(theirs[name][2:], np.float64)
                ours, own_loads = routed(name, keys, rounds)
                table.append(
                    [
                        name,
                        f"{exponent:g}",
                        f"{keys.size / seconds / 1e6:.1f}",
                        f"{keys.size / ours / 1e6:.1f}",
                        f"{seconds / ours:.1f}",
                        f"{imbalance_percent(loads):.3g}",
                        f"{imbalance_percent(own_loads):.3g}",
                    ]
                )
    columns = ["grouping", "Zipf", "Storm M/s", "ours M/s", "ratio", "Storm λ %", "our λ %"]
    show(f"Storm {STORM} and ours, {rows:,} keys, {WORKERS} workers", columns, table)


def routed(
    name: str, keys: "np.ndarray[tuple[int], np.dtype[np.int64]]", rounds: int
) -> tuple[float, "np.ndarray[tuple[int], np.dtype[np.float64]]"]:
    """Return the least CPU seconds of our grouping and the loads of the workers."""
    least, loads = float("inf"), np.zeros(WORKERS)
    for _ in range(rounds + 1):  # the first compiles
        grouping = make_grouping(name, WORKERS, seed=1)
        begin = time.process_time()
        workers = grouping.route_many(keys)
        least = min(least, time.process_time() - begin)
        loads = np.bincount(workers, minlength=WORKERS).astype(np.float64)
    return least, loads


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
