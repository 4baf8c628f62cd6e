"""What runs on a session of its own process runs through Spark Connect too: the same tests."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

MISSING = [name for name in ("grpc", "grpc_status") if importlib.util.find_spec(name) is None]
HERE = Path(__file__).parent
TESTS = (
    "test_both_sessions.py",
    "test_stores.py::test_a_url_keeps_its_slashes",
    "test_stores.py::test_what_is_written_is_read_and_replaced",
    "test_stores.py::test_a_folder_of_other_files_is_not_replaced_by_a_file",
    "test_stores.py::test_a_saved_plan_is_loaded_and_one_that_is_not_there_is_none",
    "test_stores.py::test_connect_reads_what_a_classic_session_has_left",
    "test_stores.py::test_a_running_query_finds_its_files_in_a_classic_session_only",
    "test_stores.py::test_event_logs_are_copied_and_read",
    "steps/test_running_steps.py::test_stats_of_a_batch_arrive_and_the_result_is_as_promised",
    "steps/test_running_steps.py::test_stats_of_a_stream_arrive_with_its_progress",
    "test_loads_of_workers.py::test_a_python_step_tells_its_rows_and_its_seconds",
    "test_loads_of_workers.py::test_asking_too_early_is_an_error_and_later_it_is_not",
    "test_group_by_streams.py::test_apply_gives_out_what_a_running_aggregation_of_spark_gives_out",
    "test_map_rows.py::test_the_rows_are_those_of_a_plain_map[true-proactive-shuffle]",
    "test_map_rows.py::test_batches_give_the_rows_of_a_plain_map",
    "test_map_rows.py::test_errors_reach_the_user_with_function_worker_and_key",
    "test_map_rows_on_streams.py::test_the_schedule_goes_through_its_phases",
)


@pytest.mark.skipif(bool(MISSING), reason=f"Spark Connect needs {', '.join(MISSING)}")
def test_tests_of_a_classic_session_pass_through_connect() -> None:
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "UNSKEW_TEST_SESSION": "connect"}
    tests = [str(HERE / test) for test in TESTS]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests],
        env=env,
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout
