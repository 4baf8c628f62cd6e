import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew._table import ABSENT, get, new_table, put, remove, with_room_for

steps = st.lists(st.tuples(st.booleans(), st.integers(0, 40)), max_size=300)


@settings(deadline=None)
@given(steps)
def test_a_table_is_a_dict(steps: list[tuple[bool, int]]) -> None:
    table, model = new_table(41), dict[int, int]()
    for number, (is_put, key) in enumerate(steps):
        if is_put:
            put(table, np.uint64(key), np.int64(number))
            model[key] = number
        else:
            remove(table, np.uint64(key))
            model.pop(key, None)
    assert [get(table, np.uint64(key)) for key in range(41)] == [
        model.get(key, ABSENT) for key in range(41)
    ]


def test_a_table_that_grows_keeps_its_entries() -> None:
    table = new_table(0)
    for key in range(5_000):
        table = with_room_for(table, key + 1)
        put(table, np.uint64(key * key), np.int64(key))
    assert all(get(table, np.uint64(key * key)) == key for key in range(5_000))
    assert get(table, np.uint64(2)) == ABSENT
