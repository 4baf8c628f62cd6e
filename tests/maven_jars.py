"""Jars from Maven Central by way of Maven and its settings, once, into the user's cache."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

_PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>unskew</groupId><artifactId>jars</artifactId><version>1</version>
  <dependencies>{dependencies}</dependencies>
</project>
"""
_DEPENDENCY = """<dependency>
  <groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>
  <exclusions>{exclusions}</exclusions>
</dependency>
"""
_EXCLUSION = "<exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"


class NoJarsError(Exception):
    """Jars cannot be had here; the message says why."""


def maven_jars(name: str, coordinates: Sequence[str], *, transitive: bool = True) -> list[Path]:
    """Return the jars of ``group:name:version`` coordinates, with what they depend on if asked.

    ``name`` is what they are kept under.
    """
    folder = cache_folder(name)
    if not folder.exists():
        _download(folder, coordinates, transitive=transitive)
    return sorted(folder.glob("*.jar"))


def is_cached(name: str) -> bool:
    """Whether jars are kept under this name."""
    return cache_folder(name).exists()


def cache_folder(name: str) -> Path:
    """Return where something of this name is kept for all runs of the tests."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "unskew" / name


def _download(folder: Path, coordinates: Sequence[str], *, transitive: bool) -> None:
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            raise NoJarsError(f"there is no {program} on this machine")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as making:
        project = _PROJECT.format(dependencies=_dependencies(coordinates, transitive=transitive))
        (Path(making) / "pom.xml").write_text(project)
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=jars"]
        command = ["mvn", "--quiet", "--batch-mode", "--no-transfer-progress", *goal]
        done = subprocess.run(
            command, cwd=making, capture_output=True, text=True, check=False, timeout=600
        )
        if done.returncode:
            raise NoJarsError(f"Maven could not get {', '.join(coordinates)}: {done.stdout[:500]}")
        (Path(making) / "jars").rename(folder)


def _dependencies(coordinates: Sequence[str], *, transitive: bool) -> str:
    parts = [each.split(":") for each in coordinates]
    return "".join(
        _DEPENDENCY.format(
            group=group,
            name=name,
            version=version,
            exclusions="" if transitive else _EXCLUSION,
        )
        for group, name, version in parts
    )
