"""Draw what the workers of a job get, before and after: the picture at the top of the README.

Run it with ``python examples/before_and_after.py picture.svg``.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import unskew.spark as us
from unskew.apps import data

WORKERS, BAR, GAP, HEIGHT, MARGIN = 16, 16, 6, 120, 46


def rows_per_worker(df: DataFrame, grouping: str) -> tuple[int, ...]:
    """Return how many rows each worker gets."""
    loads = us.Loads()
    placed = us.balance(df, "word", WORKERS, grouping=grouping, loads=loads)
    placed.write.format("noop").mode("overwrite").save()
    return loads.epoch.loads


def drawn(title: str, loads: Sequence[int], most: int, left: int) -> str:
    """Return bars, the busiest one in red, and a line for the mean."""
    mean, width = sum(loads) / len(loads), len(loads) * (BAR + GAP)
    top = MARGIN + HEIGHT
    parts = [f'<text x="{left}" y="20" font-weight="bold">{title}</text>']
    said = f"busiest worker: {max(loads) / mean:.2f} × the mean"
    parts.append(f'<text x="{left}" y="37">{said}</text>')
    for number, rows in enumerate(loads):
        size = HEIGHT * rows / most
        colour = "#c62828" if rows == max(loads) and rows > 1.1 * mean else "#00897b"
        parts.append(
            f'<rect x="{left + number * (BAR + GAP)}" y="{top - size:.1f}" width="{BAR}" '
            f'height="{size:.1f}" fill="{colour}"/>'
        )
    y = top - HEIGHT * mean / most
    parts.append(
        f'<line x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#757575" '
        'stroke-dasharray="4 3"/>'
    )
    return "".join(parts)


def main(spark: SparkSession, path: Path) -> dict[str, tuple[int, ...]]:
    """Write the picture; return the rows of the workers."""
    words = data.words().select(["word"])
    df = spark.createDataFrame(words.to_pandas())
    loads = {name: rows_per_worker(df, name) for name in ("key", "wrap")}
    most, width = max(map(max, loads.values())), WORKERS * (BAR + GAP)
    titles = {"key": "Spark's hashing by key", "wrap": "us.balance(df, “word”, 16)"}
    bars = "".join(
        drawn(titles[name], rows, most, 20 + number * (width + 40))
        for number, (name, rows) in enumerate(loads.items())
    )
    size = f"{2 * width + 80} {MARGIN + HEIGHT + 12}"
    style = 'font-family="sans-serif" font-size="13" fill="#555"'
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" {style}>'
        f'<rect width="100%" height="100%" fill="white"/>{bars}</svg>\n',
        encoding="utf-8",
    )
    return loads


if __name__ == "__main__":
    running = us.session(master="local[4]")
    running.sparkContext.setLogLevel("ERROR")
    print(main(running, Path(sys.argv[1] if len(sys.argv) > 1 else "before-and-after.svg")))
    running.stop()
