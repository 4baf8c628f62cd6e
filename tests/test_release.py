"""What the release relies on: links of the README, and one version in one place."""

import re
import runpy
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_readme_of_a_release_links_to_files_that_are_there() -> None:
    absolute = runpy.run_path(str(ROOT / ".ci" / "absolute_links.py"))["absolute"]
    text = (ROOT / "README.md").read_text()
    found = absolute(text, "https://host/owner/name/", "v1")
    links = re.findall(r"\]\(([^)]+)\)", found)
    assert links
    assert len(links) == len(re.findall(r"\]\(([^)]+)\)", text))
    for link in links:
        kind, _, path = link.partition("/v1/")
        assert kind.removeprefix("https://host/owner/name/") in ("blob", "raw")
        assert (ROOT / path.partition("#")[0]).exists(), link
    assert absolute(found, "https://other", "v2") == found


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    source = ROOT / project["tool"]["hatch"]["version"]["path"]
    assert len(re.findall(r"^__version__ = ", source.read_text(), re.M)) == 1
