"""Stand-ins for data sets that cannot be had."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unskew.errors import UnknownNameError
from unskew_papers import datasets


@pytest.mark.parametrize(("p1", "keys"), [(0.0932, 100_000), (0.2, 8_504), (0.0029, 5_000)])
def test_a_stand_in_has_the_published_share_of_the_hottest_key(p1: float, keys: int) -> None:
    powers = np.arange(1, keys + 1) ** -datasets.exponent_for(p1, keys)
    assert powers[0] / powers.sum() == pytest.approx(p1, rel=1e-3)


def test_a_file_of_the_user_is_taken_instead_of_stand_ins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"key": ["a", "b", "a"], "src": [1, 2, 3]})
    pq.write_table(table, tmp_path / "WP.parquet")
    monkeypatch.setenv(datasets.FOLDER, str(tmp_path))
    assert datasets.names_for("WP") == ["WP"]
    keys, fed_by = datasets.read_keys.__wrapped__("WP")
    assert keys[0] == keys[2] != keys[1]
    assert fed_by is not None
    assert fed_by.tolist() == [1, 2, 3]


def test_without_a_file_there_is_always_a_drawn_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(datasets.FOLDER, raising=False)
    for symbol in datasets.PUBLISHED:
        assert datasets.names_for(symbol)[0] == f"{symbol}~"
        assert datasets.load(f"{symbol}~", 100, 50, 1).rows == 100


def test_an_unknown_set_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="valid: WP, TW"):
        datasets.read_keys("XY")


def test_hot_keys_that_change_count_while_they_are_hot() -> None:
    stream = datasets.load("CT~", 40_000, 2_900, 1)
    whole = np.concatenate([batch.keys for batch in stream.batches()])
    over_all = np.unique(whole, return_counts=True)[1].max() / whole.size
    assert datasets.hottest_share(stream) > 2 * over_all
