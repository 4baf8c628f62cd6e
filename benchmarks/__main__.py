"""Run all benchmarks, or those named: ``python -m benchmarks routing simulation``."""

import importlib
import sys

BENCHMARKS = (
    "routing",
    "simulation",
    "sketches",
    "startup",
    "spark_routing",
    "spark_work",
    "spark_loads",
    "spark_wrap",
    "spark_streaming",
    "spark_watching",
    "spark_python_stage",
    "spark_proactive",
    "spark_proactive_streams",
    "spark_proactive_arrivals",
    "applications",
)


def main(names: list[str]) -> int:
    """Run the benchmarks called ``names``, all if there are none."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}; valid: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        importlib.import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
