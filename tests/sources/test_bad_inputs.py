from __future__ import annotations

import time
import warnings

import pytest

from relprev.cohort import build_cohorts
from relprev.errors import InvalidInputError
from relprev.study import Study
from tests.sources.bad_inputs import BAD_INPUTS, SECRET, BadInput

LONGEST = 20  # seconds


def read(bad: BadInput, folder) -> None:
    study = Study.from_toml(bad.write(folder))
    with study.open_source() as source:
        build_cohorts(study.cohort, source)


@pytest.mark.parametrize("bad", BAD_INPUTS, ids=[bad.name for bad in BAD_INPUTS])
def test_a_bad_input_is_refused_in_words_that_show_no_value(bad, tmp_path):
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(InvalidInputError, match=bad.words) as caught:
            read(bad, tmp_path)
    assert SECRET not in str(caught.value)
    assert time.monotonic() - began < LONGEST


def test_names_differ():
    assert len({bad.name for bad in BAD_INPUTS}) == len(BAD_INPUTS)
