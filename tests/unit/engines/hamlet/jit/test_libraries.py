"""Parts become machine code with the kernels that call them, and not before."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba import njit, types
from numba.core.caching import NullCache
from numba.core.errors import TypingError

from hamlet_core.engines.hamlet.jit.decorators import (
    compiled,
    compiled_by_types,
    compiled_inline,
    compiled_part,
)
from hamlet_core.engines.hamlet.jit.libraries import KernelLibrary, PartLibrary
from tests.conftest import ROOT


@compiled_inline
def halved(x):
    return x / 2


@compiled_part
def near(x):
    return halved(x) + 1


@compiled_part
def far(x):
    return near(x) + near(-x)


def of_type(x):
    """What `x` is called."""


@compiled_by_types(of_type)
def _of_type(x):
    def whole(x):
        return 1

    def other(x):
        return halved(x)

    return whole if str(x) == "int64" else other


@compiled_part
def checked(x):
    if x > 100:
        raise ValueError("too large")
    return x


@compiled
def diamond(x):
    return far(x) + near(x)


@compiled
def above(x):
    return diamond(x) + near(x) + of_type(x) + checked(x)


@compiled_part
def doubled(x):
    return 2 * x


@compiled
def of_constants(x):
    return doubled(x) + doubled(20) + doubled(1)


@compiled
def of_nothing(x):
    return x.nothing


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for kernel in (diamond, above, of_constants, of_nothing):
        monkeypatch.setattr(kernel, "_cache", NullCache())


def library_of(function):
    """Of doubles: other tests of this process may have asked for other types."""
    return function.overloads[types.float64,].library


def defined(library):
    return {one.name for one in library.get_defined_functions()}


def test_a_part_that_is_called_on_several_ways_is_taken_in_once() -> None:
    assert diamond(8.0) == pytest.approx(2.0 + 5.0)
    kernel, part = library_of(diamond), library_of(near)
    assert type(kernel) is KernelLibrary
    assert kernel._finalized
    assert all(type(library_of(one)) is PartLibrary for one in (far, near, halved))
    assert not part._finalized
    assert not library_of(far)._finalized
    assert any("near" in name for name in defined(part))
    assert not any("near" in name for name in defined(library_of(far)))  # a call, not a copy


def test_a_kernel_calls_kernels_and_parts_of_any_types() -> None:
    assert above(8.0) == pytest.approx(7.0 + 5.0 + 4.0 + 8.0)
    assert above(8) == pytest.approx(7.0 + 5.0 + 1 + 8)


def test_what_a_part_raises_arrives() -> None:
    with pytest.raises(ValueError, match="too large"):
        above(101.0)


def test_a_part_is_called_by_functions_that_are_no_kernels_before_and_after_kernels() -> None:
    @compiled_part
    def part(x):
        return halved(x) + 1

    @compiled
    def kernel(x):
        return part(x) * 2

    @njit
    def function(x):
        return part(x) * 3

    kernel._cache = NullCache()
    assert kernel(8.0) == pytest.approx(10.0)
    assert function(8.0) == pytest.approx(15.0)
    assert function(8) == pytest.approx(15.0)
    assert kernel(8) == pytest.approx(10.0)


def test_a_constant_has_no_part_of_its_own() -> None:
    assert of_constants(3) == 48
    assert len(doubled.overloads) == 1


def test_garbage_is_collected_after_compilation_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    switched: list[str] = []
    for name in ("enable", "disable"):
        monkeypatch.setattr(gc, name, lambda name=name: switched.append(name))
    with pytest.raises(TypingError, match="nothing"):
        of_nothing(1)
    assert switched == ["disable", "enable"]
    monkeypatch.setattr(gc, "isenabled", lambda: False)
    with pytest.raises(TypingError, match="nothing"):
        of_nothing(1.0)
    assert switched[2:] == ["disable"]


PROGRAM = """
from tests.unit.engines.hamlet.jit import test_libraries as t
{}
print(t.above(8.0), len(t.near.overloads), len(t.above.overloads))
"""


def test_a_kernel_from_disk_brings_its_parts(tmp_path: Path) -> None:
    def called(first: str = "") -> str:
        return subprocess.run(
            [sys.executable, "-c", PROGRAM.format(first)],
            cwd=ROOT,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    assert called("t.diamond(8.0)") == "24.0 1 1"  # `above` takes a kernel in that is machine code already
    assert called() == "24.0 0 1"  # from disk: no part is translated
    assert {path.name.split(".")[1].split("-")[0] for path in tmp_path.rglob("*.nbc")} == {"diamond", "above"}
