"""Every bad input is a named error that says exactly what is recorded."""

import pytest

from tests.golden import refusals
from tests.golden.bad_inputs import INPUTS

ERRORS = refusals.input_errors()


def test_every_input_is_recorded_and_there_are_enough():
    assert list(INPUTS) == list(ERRORS)
    assert len(INPUTS) >= 20


@pytest.mark.parametrize("name", INPUTS)
def test_bad_input(name):
    found = refusals.error_of(INPUTS[name])
    assert found == ERRORS[name]
    assert found, "the input is accepted"


@pytest.mark.parametrize("name", INPUTS)
def test_the_error_says_what_to_do(name):
    assert ERRORS[name]["hint"]
