"""What runs on a session of its own process runs through Spark Connect too."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

MISSING = [name for name in ("grpc", "grpc_status") if importlib.util.find_spec(name) is None]
BODY = Path(__file__).with_name("test_both_sessions.py")


@pytest.mark.skipif(bool(MISSING), reason=f"Spark Connect needs {', '.join(MISSING)}")
def test_the_body_for_both_kinds_of_session_passes_through_connect() -> None:
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "UNSKEW_TEST_SESSION": "connect"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", BODY],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
