"""Numbers of many partitions side by side: what they are, beside Python's own numbers."""

from fractions import Fraction

import numpy as np
import pytest

from hamlet_core.algebra.arithmetic import PRIME
from hamlet_core.engines.hamlet.chains.algebras import (
    KeyLanes,
    ResidueLanes,
    ScaledLanes,
    WholeLanes,
    _Walking,
    appended,
    put,
    replaced,
    taken,
)
from hamlet_core.engines.hamlet.numbers.arenas import ABSENT, NEUTRAL
from hamlet_core.engines.hamlet.panes.maps import ADD_LEFT, ADD_PRODUCT, ADD_RIGHT, COPY

RESIDUES = [0, 1, 2, 2**30, 2**31 - 1, 2**31, 2**60, 2**60 + 12345, PRIME - 2, PRIME - 1]


def test_residues_add_and_multiply_as_integers_modulo_the_prime():
    one, other = (np.array(side, np.uint64)[None] for side in zip(*pairs(RESIDUES), strict=True))
    lanes = ResidueLanes()
    (total,), (product,) = lanes.add((one,), (other,)), lanes.multiply((one,), (other,))
    assert total[0].tolist() == [(a + b) % PRIME for a, b in pairs(RESIDUES)]
    assert product[0].tolist() == [a * b % PRIME for a, b in pairs(RESIDUES)]


def pairs(values):
    return [(one, other) for one in values for other in values]


def scaled(values):
    """Fractions that doubles hold, as scaled numbers."""
    mantissa, exponent = np.frexp(np.array([[float(value) for value in values]]))
    lanes = ScaledLanes()
    nothing = lanes.zeros(mantissa.shape)
    return (mantissa, np.where(mantissa == 0.0, nothing[1], exponent.astype(np.int64)))


def fractions(numbers):
    return [
        Fraction(mantissa) * Fraction(2) ** exponent if mantissa else Fraction(0)
        for mantissa, exponent in zip(numbers[0][0].tolist(), numbers[1][0].tolist(), strict=True)
    ]


def test_scaled_numbers_add_and_multiply():
    values = [
        Fraction(0),
        Fraction(1),
        Fraction(-3, 4),
        Fraction(5),
        Fraction(2) ** 200,
        -(Fraction(2) ** -90),
    ]
    lanes, (one, other) = ScaledLanes(), (scaled(side) for side in zip(*pairs(values), strict=True))
    product = fractions(lanes.multiply(one, other))
    assert product == [a * b for a, b in pairs(values)]
    for found, (a, b) in zip(fractions(lanes.add(one, other)), pairs(values), strict=True):
        assert abs(found - (a + b)) <= abs(a + b) * Fraction(1, 2**52)


def test_scaled_numbers_never_overflow():
    lanes, number = ScaledLanes(), scaled([Fraction(3)])
    for _ in range(20):
        number = lanes.multiply(number, number)
    assert number[1][0, 0] == pytest.approx(2**20 * np.log2(3), rel=1e-5)
    assert lanes.positive(number).all()
    assert not lanes.positive(lanes.multiply(number, lanes.zeros((1, 1)))).any()


def test_keys_are_the_least_of_what_exists():
    keys = [-5, 0, 7, int(NEUTRAL), int(ABSENT)]
    lanes, (one, other) = (
        KeyLanes(),
        ((np.array([side], np.int64),) for side in zip(*pairs(keys), strict=True)),
    )
    assert lanes.add(one, other)[0][0].tolist() == [min(pair) for pair in pairs(keys)]
    expected = [int(ABSENT) if int(ABSENT) in pair else min(pair) for pair in pairs(keys)]
    assert lanes.multiply(one, other)[0][0].tolist() == expected


@pytest.mark.parametrize("lanes", [ScaledLanes(), ResidueLanes(), WholeLanes(), KeyLanes()])
def test_nothing_and_the_empty_trend(lanes):
    zero, one = lanes.zeros((2, 3)), lanes.ones((2, 3))
    both = lanes.add(one, one) if not isinstance(lanes, KeyLanes) else one
    for number in (zero, one, both):
        assert same(lanes.add(number, zero), number)
        assert same(lanes.multiply(number, one), number)
        assert same(lanes.multiply(number, zero), zero)
    assert lanes.positive(one).all()


def same(one, other):
    return all((left == right).all() for left, right in zip(one, other, strict=True))


STEPS = np.array(
    [
        (COPY, 0, 0, 0, 2),
        (ADD_RIGHT, 0, 0, 1, 2),
        (ADD_PRODUCT, 0, 0, 2, 2),
        (COPY, 2, 1, 0, 1),
        (ADD_LEFT, 2, 0, 0, 1),
        (ADD_PRODUCT, 2, 1, 0, 1),
    ],
    np.int64,
)


def test_steps_of_scaled_numbers_in_the_kernel_are_those_in_python():
    draw = np.random.default_rng(1)
    lanes = ScaledLanes()
    for partitions in (1, 7, 3, 0, 127, 128, 129, 300):
        left, right = (scaled(draw.integers(-9, 9, size * partitions)) for size in (2, 4))
        left, right = (
            tuple(one.reshape(-1, partitions) for one in region) if partitions else lanes.zeros((size, 0))
            for region, size in ((left, 2), (right, 4))
        )
        found, expected = lanes.walk(STEPS, 3, left, right), _Walking.walk(lanes, STEPS, 3, left, right)
        assert same(found, expected), partitions
        assert found[0].shape == (3, partitions)


def test_some_partitions_are_taken_and_put():
    numbers = (np.arange(6).reshape(2, 3),)
    assert taken(numbers, np.array([0, 2]))[0].tolist() == [[0, 2], [3, 5]]
    assert taken(numbers, np.arange(3)) is numbers
    put(numbers, (np.array([[7], [8]]),), np.array([1]))
    assert numbers[0].tolist() == [[0, 7, 2], [3, 8, 5]]
    assert replaced(numbers, (np.array([[9], [6]]),), np.array([2]))[0].tolist() == [[0, 7, 9], [3, 8, 6]]
    others = (np.ones((2, 3), np.int64),)
    assert replaced(numbers, others, np.arange(3)) is others
    assert appended([numbers, numbers], 1)[0].shape == (2, 6)
    assert appended([numbers], 1) is numbers
