"""``unskew doctor``: what is here, what is missing, and whether rows go where we say."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LIBRARIES = ("numpy", "pandas", "pyarrow", "numba", "pyspark", "pyspark-client")
_EXTRAS = {
    "spark": "pandas",
    "plots": "matplotlib",
    "dashboard": "uvicorn",
    "sketches": "datasketches",
}
_NO_SPARK = (
    "PySpark is not installed; all but Spark works. Hint: pip install 'unskew[spark]', or install "
    "unskew where your platform has PySpark"
)
_NO_JAVA = "not found. Hint: install Java 17, or set JAVA_HOME"


class Finding(NamedTuple):
    """One line of the screen."""

    what: str
    text: str
    ok: bool = True


def doctor(
    master: Annotated[
        str, typer.Option("--master", help="Where Spark runs: local[2], or a cluster's address.")
    ] = "local[2]",
    remote: Annotated[
        str | None, typer.Option("--remote", help="A Spark Connect server: sc://host:15002.")
    ] = None,
) -> None:
    r"""Say what is here, what is missing, and whether a cluster puts rows where unskew says.

    One screen; exit code 1 if something would not work.

    [bold]Examples[/bold]

    unskew doctor

    unskew doctor --remote sc://spark.example:15002
    """
    from unskew.cli._terminal import console

    out, failed = console(), False
    for finding in _findings(master, remote):
        mark = "[green]ok[/green]  " if finding.ok else "[red]FAIL[/red]"
        out.print(f"{mark} [bold]{finding.what:10}[/bold] ", end="")
        out.print(finding.text, markup=False)
        failed = failed or not finding.ok
    if failed:
        raise typer.Exit(1)


def _findings(master: str, remote: str | None) -> Iterator[Finding]:
    from unskew import __version__

    place = f"Python {platform.python_version()} at {sys.executable}, {platform.system()}"
    yield Finding("unskew", f"{__version__}, {place}")
    found = {name: _version(name) for name in _LIBRARIES}
    yield Finding("libraries", ", ".join(f"{name} {one}" for name, one in found.items() if one))
    missing = [extra for extra, library in _EXTRAS.items() if find_spec(library) is None]
    if missing:
        yield Finding("extras", f"not installed: pip install 'unskew[{','.join(missing)}]'")
    yield Finding("loops", f"compiled ones are cached in {_cache_folder()}")
    if not (found["pyspark"] or found["pyspark-client"]):
        yield Finding("Spark", _NO_SPARK, ok=False)
        return
    if remote is None:
        java = _java()
        yield Finding("Java", java or _NO_JAVA, ok=java is not None)
        if not java:
            return
    try:
        spark = _session(master, remote)
    except Exception as error:
        yield Finding("Spark", f"no session: {_first_line(error)}", ok=False)
        return
    yield from _findings_in(spark)
    spark.stop()


def _findings_in(spark: "SparkSession") -> Iterator[Finding]:
    from unskew.spark.check_placement import check_placement
    from unskew.spark.session import shuffle_partitions
    from unskew.spark.versions import lacking

    kind = "Connect" if ".connect." in type(spark).__module__ else "classic"
    partitions = shuffle_partitions(spark) or "auto"
    yield Finding("Spark", f"{spark.version}, {kind}, {partitions} shuffle partitions")
    for what in lacking(spark):
        yield Finding("Spark", f"{spark.version} has no {what}")
    try:
        check = check_placement(spark)
        yield Finding("placement", str(check), ok=check.ok)
    except Exception as error:
        yield Finding("placement", _first_line(error), ok=False)
    try:
        yield _executors(spark)
    except Exception as error:
        text = f"cannot run Python with PyArrow: {_first_line(error)}. Hint: docs/cluster.md"
        yield Finding("executors", text, ok=False)


def _executors(spark: "SparkSession") -> Finding:
    """Look for unskew where Python workers run."""
    from unskew import __version__

    # Only names of its own: it is to run where unskew is not.
    def look(batches: "Iterator[object]") -> "Iterator[object]":
        import sys

        import pyarrow as pa

        try:
            import unskew

            found = unskew.__version__
        except ImportError as error:
            found = f"none ({error})"
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"python": [sys.executable], "unskew": [found]})

    numbers = spark.range(0, 8, 1, 8)
    rows = numbers.mapInArrow(look, "python string, unskew string").distinct().collect()
    text = "; ".join(sorted(f"unskew {row['unskew']} in {row['python']}" for row in rows))
    ok = all(row["unskew"] == __version__ for row in rows)
    hint = "" if ok else f". Hint: they need {__version__}, see docs/cluster.md"
    return Finding("executors", f"{text}{hint}", ok=ok)


def _session(master: str, remote: str | None) -> "SparkSession":
    if remote is not None:
        from pyspark.sql import SparkSession

        builder: SparkSession.Builder = SparkSession.builder
        return builder.remote(remote).getOrCreate()
    from unskew.spark.session import session

    spark = session(master=master, app_name="unskew doctor")
    spark.sparkContext.setLogLevel("OFF")
    return spark


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cache_folder() -> str:
    """Return where Numba keeps the loops of this installation."""
    from unskew.hashing import _mix_many

    cache: object = getattr(_mix_many, "_cache", None)
    return str(getattr(cache, "cache_path", "no folder: set NUMBA_CACHE_DIR"))


def _java() -> str | None:
    """Return the first line of what Java says of itself, None if there is none."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None)
    if found is None:
        return None
    said = subprocess.run([found, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 (found on the PATH)
    lines = [line for line in said.stderr.splitlines() if "version" in line]
    return f"{lines[0]} at {found}" if lines else None


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}"
