"""Faults at random moments: of executors, of their files, of a query and its folder of plans."""

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

_LATEST = 4.0  # seconds after the begin of a job
_PAUSE = 2.0


class Scene(NamedTuple):
    """What faults can happen to."""

    scratch: Path
    """Where executors keep their files."""
    plans: Path | None = None
    """Where a stream keeps its plans."""
    stop: Callable[[], str] | None = None
    """Stops a stream, which is then started again; says what came of it."""
    latest: float = _LATEST
    """Within how many seconds faults happen."""


@contextmanager
def faults(kind: str, random: Random, scene: Scene) -> Iterator[list[str]]:
    """Let faults of a kind happen while the body runs; gives the list of those that did.

    Parameters
    ----------
    kind
        One of `FAULTS`, or of `STREAM_FAULTS` where the scene has a stream.
    random
        Picks moments and victims.
    scene
        What they happen to.
    """
    happened: list[str] = []
    over = threading.Event()

    def run() -> None:
        steps = STREAM_FAULTS[kind]
        for step in steps:
            if not over.wait(random.uniform(0.0, scene.latest / len(steps))):
                happened.append(step(random, scene))

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


def _kill(random: Random, _scene: Scene) -> str:
    there = executors()
    if not there:
        return "no executor to kill"
    os.kill(random.choice(there), signal.SIGKILL)
    return "executor killed"


def _pause(random: Random, _scene: Scene) -> str:
    there = executors()
    if not there:
        return "no executor to pause"
    victim = random.choice(there)
    os.kill(victim, signal.SIGSTOP)
    time.sleep(_PAUSE)
    os.kill(victim, signal.SIGCONT)
    return f"executor stopped for {_PAUSE:g} s"


def _delete(random: Random, scene: Scene) -> str:
    files = sorted(path for path in scene.scratch.rglob("shuffle_*") if path.is_file())
    chosen = [path for path in files if random.random() < 0.5]
    for path in chosen:
        path.unlink(missing_ok=True)
    return f"shuffle files deleted: {len(chosen)} of {len(files)}"


def _damage_plans(random: Random, scene: Scene) -> str:
    there = sorted(scene.plans.glob("*")) if scene.plans else []
    chosen = [path for path in there if path.is_file() and random.random() < 0.7]
    for path in chosen:
        content = path.read_bytes()
        cut = random.randrange(len(content) + 1)
        path.write_bytes(random.choice((content[:cut], b"\xff" * 40, b"", content[::-1])))
    return f"files of plans damaged: {len(chosen)} of {len(there)}"


def _lose_plans(_random: Random, scene: Scene) -> str:
    if scene.plans is None or not scene.plans.exists():
        return "no folder of plans to lose"
    shutil.rmtree(scene.plans, ignore_errors=True)
    return "folder of plans deleted"


def _stop_query(_random: Random, scene: Scene) -> str:
    return scene.stop() if scene.stop else "no query to stop"


Steps = list[Callable[[Random, Scene], str]]

FAULTS: dict[str, Steps] = {
    "none": [],
    "kill": [_kill],
    "kill two": [_kill, _kill],
    "pause": [_pause],
    "delete shuffle files": [_delete],
    "kill and delete": [_kill, _delete],
}
"""What happens, in this order."""

STREAM_FAULTS: dict[str, Steps] = {
    **FAULTS,
    "damage plans": [_damage_plans, _damage_plans],
    "lose plans": [_lose_plans],
    "restart": [_stop_query, _stop_query],
    "damage and restart": [_damage_plans, _stop_query],
    "lose and restart": [_lose_plans, _stop_query],
    "kill and restart": [_kill, _stop_query],
}
"""What may happen to a stream."""
