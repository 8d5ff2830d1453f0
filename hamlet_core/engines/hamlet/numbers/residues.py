"""Residues: primes for the kernels, and whole numbers from their residues (Chinese remainder theorem)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from operator import mul
from typing import Any

import numpy as np

from hamlet_core.algebra.arithmetic import PRIME
from hamlet_core.engines.hamlet.jit.decorators import compiled_allocating
from hamlet_core.engines.hamlet.numbers.arenas import ResidueNumbers, montgomery

PRIME_BITS = 60.9
"""What each of the first several thousand primes brings."""

_WORD = 2**64
_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
"""Enough for every number below 2**64 (Sorenson and Webster 2015)."""


def primes(count: int) -> tuple[int, ...]:
    """The largest primes up to 2**61 - 1, which is the first."""
    return _primes(1 << max(count - 1, 0).bit_length())[:count]


@cache
def _primes(count: int) -> tuple[int, ...]:
    if count == 1:
        return (PRIME,)
    known = _primes(count // 2)
    return (*known, *_next(known[-1], count - len(known)))


def _next(below: int, count: int) -> Iterator[int]:
    candidate = below - 2
    while count:
        if all(candidate % small for small in _WITNESSES) and _is_prime(candidate):
            yield candidate
            count -= 1
        candidate -= 2


def _is_prime(number: int) -> bool:
    """Miller and Rabin's test, certain below 2**64."""
    twos = ((number - 1) & (1 - number)).bit_length() - 1
    odd = (number - 1) >> twos
    for witness in _WITNESSES:
        power = pow(witness, odd, number)
        if power in (1, number - 1):
            continue
        if not any((power := power * power % number) == number - 1 for _ in range(twos - 1)):
            return False
    return True


def residue_arena(size: int, moduli: Sequence[int]) -> ResidueNumbers:
    """`size` zeros modulo these primes."""
    return ResidueNumbers(
        np.zeros((size, len(moduli)), np.uint64),
        np.array(moduli, np.uint64),
        np.array([-pow(prime, -1, _WORD) % _WORD for prime in moduli], np.uint64),
        np.array([_WORD * _WORD % prime for prime in moduli], np.uint64),
        np.array([_WORD % prime for prime in moduli], np.uint64),
    )


@compiled_allocating
def times_constants(arena: ResidueNumbers, count: int, factors: Any) -> Any:
    """The first numbers of an arena out of Montgomery form, each times the plain constant of its prime."""
    out = np.empty((count, arena.prime.shape[0]), np.uint64)
    for number in range(count):
        for k in range(arena.prime.shape[0]):
            out[number, k] = montgomery(
                arena.residue[number, k], factors[k], arena.prime[k], arena.inverse[k]
            )
    return out


@cache
def _basis(count: int) -> tuple[int, tuple[int, ...]]:
    """The product of the first primes, and for each the product of the others."""
    moduli = primes(count)
    product = _product(moduli)
    return product, tuple(product // prime for prime in moduli)


def _product(numbers: Sequence[int]) -> int:
    if len(numbers) == 1:
        return numbers[0]
    middle = len(numbers) // 2
    return _product(numbers[:middle]) * _product(numbers[middle:])


@cache
def lifts(count: int) -> tuple[int, ...]:
    """For each of the first primes the inverse of the product of the others."""
    _, others = _basis(count)
    return tuple(pow(other, -1, prime) for other, prime in zip(others, primes(count), strict=True))


def rebuilt(lifted: Sequence[int]) -> int:
    """The integer of least absolute value from residues times `lifts`."""
    product, others = _basis(len(lifted))
    number: int = sum(map(mul, lifted, others)) % product
    return number - product if number > product // 2 else number
