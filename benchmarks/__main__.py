"""Run all benchmarks, or those named: ``python -m benchmarks routing simulation``."""

import importlib
import sys
import traceback

BENCHMARKS = (
    "routing",
    "simulation",
    "sketches",
    "startup",
    "spark_routing",
    "spark_work",
    "spark_loads",
    "spark_wrap",
    "spark_join",
    "spark_streaming",
    "spark_watching",
    "spark_python_stage",
    "spark_proactive",
    "spark_proactive_streams",
    "spark_proactive_arrivals",
    "spark_write",
    "spark_window",
    "advisor",
    "applications",
    "storm",
)


def main(names: list[str]) -> int:
    """Run the benchmarks called ``names``, all if there are none; 1 if some fail."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}; valid: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    failed = []
    for name in names or BENCHMARKS:
        try:
            importlib.import_module(f"benchmarks.{name}").main()
        except Exception:  # whatever it is, the others can still be measured
            traceback.print_exc()
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
