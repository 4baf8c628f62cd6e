import subprocess
import sys

import unskew


def test_every_public_name_is_there() -> None:
    for name in unskew.__all__:
        assert getattr(unskew, name) is not None
    assert set(unskew.__all__) <= set(dir(unskew))


def test_importing_unskew_loads_neither_spark_nor_plotting() -> None:
    code = (
        "import sys, unskew\n"
        "unskew.PartialKey, unskew.simulate, unskew.zipf\n"
        "print([name for name in ('pyspark', 'plotly', 'pandas') if name in sys.modules])\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
