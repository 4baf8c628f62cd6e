"""Every reader and loop on its corpus, and on some damaged copies: always the same ones."""

from random import Random

import pytest
from tests.fuzz.mutations import mutated
from tests.fuzz.targets import TARGETS, Target, run

_CASES = 60


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_any_bytes_are_read_or_refused_with_the_readers_own_error(target: Target) -> None:
    samples, random = target.corpus(), Random(target.name)
    assert samples
    for sample in samples:
        run(target, sample)
    for _ in range(_CASES):
        run(target, mutated(random, random.choice(samples), samples))
