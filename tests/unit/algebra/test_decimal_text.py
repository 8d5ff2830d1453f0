"""Digits of whole numbers of any size."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from hamlet_core.algebra.decimal_text import decimal_text


@given(st.integers(0, 2**64), st.integers(0, 20_000), st.integers(0, 2**64))
def test_the_digits_of_large_numbers(high, bits, low):
    number = (high << bits) + low
    assert decimal_text(number) == str(Decimal(number))


def test_powers_and_their_neighbours():
    for number in (2**2048, 10**2000, 2**16384, 10**9000):
        for near in (number - 1, number, number + 1):
            assert decimal_text(near) == str(Decimal(near))
    assert decimal_text(0) == "0"
