"""Pages of the site that are made of the code: one per grouping, the reference, the changelog."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

import unskew
import unskew.spark
from unskew import simulate, zipf
from unskew._bars import bars_of
from unskew.errors import UnskewError
from unskew.groupings.registry import GROUPINGS, make_grouping

_WORKERS, _ROWS = 10, 50_000
_ROOT = Path(__file__).parents[1]


def on_config(config: Any) -> Any:
    """Put a page per grouping where the navigation has a folder of them."""
    for entry in config.nav:
        if entry.get("Groupings") == "groupings/":
            entry["Groupings"] = ["groupings.md", *(f"groupings/{name}.md" for name in GROUPINGS)]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages."""
    pages = {f"groupings/{name}.md": _grouping(name) for name in GROUPINGS}
    on_spark = _public(unskew.spark)
    elsewhere = {*on_spark, *GROUPINGS.values()}
    pages["reference/spark.md"] = _reference("unskew.spark", on_spark)
    others = [one for one in _public(unskew) if one not in elsewhere]
    pages["reference/unskew.md"] = _reference("unskew", others)
    pages["changelog.md"] = _from_root("CHANGELOG.md")
    pages["contributing.md"] = _from_root("CONTRIBUTING.md")
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links to files beside the docs lead to the pages that are made of them."""
    return markdown.replace("](../CONTRIBUTING.md", "](contributing.md")


def _grouping(name: str) -> str:
    kind = GROUPINGS[name]
    return (
        f"# `{name}`\n\n{_picture(name)}\n\n"
        f"::: {kind.__module__}.{kind.__qualname__}\n"
        "    options: {members: false, heading_level: 2, show_bases: false}\n"
    )


def _picture(name: str) -> str:
    """Return bars of the workers' rows, and the command that shows the same."""
    stream = f"zipf:keys=2000,exponent=1.2,rows={_ROWS}"
    try:
        result = simulate(
            make_grouping(name, _WORKERS, seed=1),
            zipf(keys=2000, exponent=1.2, rows=_ROWS, seed=1),
            sources=5,
        )
    except UnskewError:  # one that has to know something first
        return ""
    return (
        f"{bars_of(result.loads, 'rows per worker')}\n\n"
        f"λ = {result.imbalance_percent:.3g} %, {result.replication:.3g} workers per key: "
        f"`unskew simulate -g {name} --workers {_WORKERS} --sources 5 --stream {stream} --seed 1`"
    )


def _public(module: Any) -> list[Any]:
    """Return the functions and classes that a package offers."""
    offered = (getattr(module, name) for name in sorted(module.__all__, key=str.lower))
    return [one for one in offered if hasattr(one, "__qualname__")]


def _reference(title: str, offered: list[Any]) -> str:
    parts = [f"::: {one.__module__}.{one.__qualname__}" for one in offered]
    options = "    options: {heading_level: 2}"
    return "\n\n".join([f"# `{title}`", *(f"{part}\n{options}" for part in parts)])


def _from_root(name: str) -> str:
    text = (_ROOT / name).read_text(encoding="utf-8")
    text = text.replace("](docs/", "](").replace("](README.md#the-groupings)", "](groupings.md)")
    # Files of the repository that are no pages.
    return re.sub(r"\[([^\]]+)\]\((?:tests|src|papers|benchmarks|examples|\.)[^)]*\)", r"\1", text)
