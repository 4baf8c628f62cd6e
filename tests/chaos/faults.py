"""Faults of executors, at random moments: killed, stopped for a while, bereft of their files."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

_LATEST = 4.0  # seconds after the begin of a job
_PAUSE = 2.0


@contextmanager
def faults(kind: str, random: Random, scratch: Path) -> Iterator[list[str]]:
    """Let faults of a kind happen while the body runs; gives the list of those that did.

    Parameters
    ----------
    kind
        One of `FAULTS`.
    random
        Picks moments and victims.
    scratch
        Where executors keep their files.
    """
    happened: list[str] = []
    over = threading.Event()

    def run() -> None:
        for step in FAULTS[kind]:
            if not over.wait(random.uniform(0.0, _LATEST / len(FAULTS[kind]))):
                happened.append(step(random, scratch))

    thread = threading.Thread(target=run, name="chaos", daemon=True)
    thread.start()
    try:
        yield happened
    finally:
        over.set()
        thread.join()


def executors() -> list[int]:
    """Return the process ids of all executors of this program's cluster."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        is_ours = _ancestors(int(folder.name)).count(os.getpid()) == 1
        if is_ours and any(b"CoarseGrainedExecutorBackend" in word for word in words):
            found.append(int(folder.name))
    return sorted(found)


def _ancestors(pid: int) -> list[int]:
    found = []
    while pid > 1:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            break
        pid = int(stat.rpartition(")")[2].split()[1])
        found.append(pid)
    return found


def _kill(random: Random, _scratch: Path) -> str:
    there = executors()
    if not there:
        return "no executor to kill"
    os.kill(random.choice(there), signal.SIGKILL)
    return "executor killed"


def _pause(random: Random, _scratch: Path) -> str:
    there = executors()
    if not there:
        return "no executor to pause"
    victim = random.choice(there)
    os.kill(victim, signal.SIGSTOP)
    time.sleep(_PAUSE)
    os.kill(victim, signal.SIGCONT)
    return f"executor stopped for {_PAUSE:g} s"


def _delete(random: Random, scratch: Path) -> str:
    files = sorted(path for path in scratch.rglob("shuffle_*") if path.is_file())
    chosen = [path for path in files if random.random() < 0.5]
    for path in chosen:
        path.unlink(missing_ok=True)
    return f"shuffle files deleted: {len(chosen)} of {len(files)}"


FAULTS: dict[str, list[Callable[[Random, Path], str]]] = {
    "none": [],
    "kill": [_kill],
    "kill two": [_kill, _kill],
    "pause": [_pause],
    "delete shuffle files": [_delete],
    "kill and delete": [_kill, _delete],
}
"""What happens, in this order."""
