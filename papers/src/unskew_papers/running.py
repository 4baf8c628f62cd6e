"""Run an experiment unit by unit; what is finished is kept on disk and not done again."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import unskew_papers
from unskew import __version__
from unskew.errors import UnskewError
from unskew_papers import results
from unskew_papers.engines.calibration import calibration_in
from unskew_papers.experiment import SPARK, Experiment, Parameters, Unit
from unskew_papers.registry import all_experiments
from unskew_papers.rows import Row, Rows


class OtherRunError(UnskewError):
    """A folder has rows of another version, seed or parameters, which are never mixed."""


class KeptRows:
    """The finished units of one experiment: a file with one line per unit.

    The first line says what the rows are of. A line that was cut off, because the machine
    stopped while it was written, does not count.

    Parameters
    ----------
    path
        The file; it is made with the first unit.
    header
        Version, size, seed and parameters of this run.

    Raises
    ------
    OtherRunError
        If the file has rows of something else.
    """

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self._path = path
        self._header = json.loads(json.dumps(header))
        self._rows: dict[str, list[Row]] = {}
        if path.exists():
            self._read()

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, unit: Unit) -> bool:
        return name_of(unit) in self._rows

    def rows_of(self, unit: Unit) -> list[Row]:
        """Return the rows of a finished unit."""
        return self._rows[name_of(unit)]

    def keep(self, unit: Unit, rows: Sequence[Row]) -> None:
        """Write the rows of a unit; when this returns they are on disk."""
        if not self._path.exists():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._append(self._header)
        plain = json.loads(json.dumps(list(rows), allow_nan=False))
        self._append({"unit": dict(unit), "rows": plain})
        self._rows[name_of(unit)] = plain

    def _append(self, fields: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(fields, ensure_ascii=False) + "\n")
            out.flush()
            os.fsync(out.fileno())

    def _read(self) -> None:
        whole = self._path.read_bytes()
        ended = whole.rfind(b"\n") + 1
        if ended < len(whole):
            os.truncate(self._path, ended)
        lines = whole[:ended].decode("utf-8").splitlines()
        if not lines:
            self._path.unlink()
            return
        self._check(json.loads(lines[0]))
        for line in lines[1:]:
            fields = json.loads(line)
            self._rows[name_of(fields["unit"])] = fields["rows"]

    def _check(self, found: dict[str, Any]) -> None:
        if found == self._header:
            return
        names = [name for name in self._header if found.get(name) != self._header[name]]
        differences = "; ".join(
            f"{name} was {found.get(name)!r}, is now {self._header[name]!r}" for name in names
        )
        raise OtherRunError(
            f"reproduce: {self._path.parent} has rows of another run, which are not mixed: "
            f"{differences}. Hint: --fresh takes them away, --out FOLDER writes elsewhere"
        )


def name_of(unit: Unit) -> str:
    """Return one text per unit, whatever the order of its fields.

    >>> name_of({"k": 2, "z": 1.0}) == name_of({"z": 1.0, "k": 2})
    True
    """
    return json.dumps(dict(unit), sort_keys=True)


Progress = Callable[[], None]
"""Called between two units; may raise to stop there."""


def reproduce(
    experiment: Experiment,
    size: str,
    *,
    seed: int,
    out: Path,
    on_unit: Progress = lambda: None,
    pool: Executor | None = None,
) -> tuple[dict[str, Any], Rows]:
    """Run what is missing of an experiment, write its files, and return summary and rows.

    Parameters
    ----------
    experiment, size, seed
        What to run.
    out
        The results folder.
    on_unit
        Called after every unit, those found on disk among them.
    pool
        Who runs the units; without one they run here, as those on Spark always do.
    """
    kept = open_kept(experiment, size, seed=seed, out=out)
    rows = _collect(experiment, _units(experiment, size, out), seed, kept, on_unit, pool)
    parameters = parameters_of(experiment, size, out)
    summary = results.summarize(experiment, size, seed, parameters, rows)
    results.write(results.folder_of(out, experiment.id, size), experiment, summary, rows)
    return summary, rows


def open_kept(experiment: Experiment, size: str, *, seed: int, out: Path) -> KeptRows:
    """Return the rows on disk of this run, or raise if they are of another."""
    owner = _owner_of(experiment)
    header = {
        "unskew": __version__,
        "unskew-papers": unskew_papers.__version__,
        "id": owner.id,
        "size": size,
        "seed": seed,
        "parameters": dict(parameters_of(owner, size, out)),
    }
    return KeptRows(_file_of(experiment, size, out), header)


def forget(experiment: Experiment, size: str, *, out: Path) -> None:
    """Take away the rows on disk, of whatever run they are."""
    _file_of(experiment, size, out).unlink(missing_ok=True)


def count_units(experiment: Experiment, size: str, *, out: Path) -> int:
    """Return in how many units the work is cut."""
    return len(_units(experiment, size, out))


def parameters_of(experiment: Experiment, size: str, out: Path) -> Parameters:
    """Return the parameters of a size, and what the engine was found to cost where it matters."""
    parameters = experiment.parameters(size)
    if not experiment.needs_calibration:
        return parameters
    return {**parameters, "calibration": calibration_in(out).fields()}


def _owner_of(experiment: Experiment) -> Experiment:
    return all_experiments()[experiment.rows_of] if experiment.rows_of else experiment


def _file_of(experiment: Experiment, size: str, out: Path) -> Path:
    return results.folder_of(out, _owner_of(experiment).id, size) / results.UNITS


def _units(experiment: Experiment, size: str, out: Path) -> list[Unit]:
    owner = _owner_of(experiment)
    return list(owner.units(parameters_of(owner, size, out)))


def _collect(
    experiment: Experiment,
    units: Sequence[Unit],
    seed: int,
    kept: KeptRows,
    on_unit: Progress,
    pool: Executor | None,
) -> Rows:
    owner = _owner_of(experiment)
    missing = [unit for unit in units if unit not in kept]
    for _ in range(len(units) - len(missing)):
        on_unit()
    for unit, rows in _measured(owner, missing, seed, pool):
        kept.keep(unit, rows)
        on_unit()
    measured = Rows(row for unit in units for row in kept.rows_of(unit))
    return owner.combine(measured) if owner.combine else measured


def _measured(
    owner: Experiment, units: Sequence[Unit], seed: int, pool: Executor | None
) -> Iterator[tuple[Unit, Sequence[Row]]]:
    """Run units and give their rows as they are done."""
    if pool is None or owner.runs_on == SPARK:
        for unit in units:
            yield unit, owner.run(unit, seed)
        return
    running: dict[Future[Sequence[Row]], Unit] = {}
    try:
        running |= {pool.submit(run_unit, owner.id, unit, seed): unit for unit in units}
        for done in as_completed(running):
            yield running[done], done.result()
    except BrokenProcessPool as error:
        raise UnskewError(
            f"reproduce: a process that worked on {owner.id} was ended from outside; was memory "
            "short? Hint: what is finished is kept; run the command again, with fewer --jobs"
        ) from error
    finally:  # where someone stops in between, the units that wait are not begun
        for waiting in running:
            waiting.cancel()


def run_unit(experiment_id: str, unit: Unit, seed: int) -> Sequence[Row]:
    """Run one unit; to be called in another process."""
    return all_experiments()[experiment_id].run(unit, seed)
