"""Kernels are compiled once per machine, for the sources as they are, and a run says that it compiles."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

from hamlet_core.engines.hamlet import kernel_cache
from hamlet_core.engines.hamlet.compilation import COMPILING, compiled
from hamlet_core.engines.hamlet.exact_numbers import sum_fits
from hamlet_core.engines.hamlet.kernel_cache import KernelCache, cache_place, kernel_sources
from tests.conftest import ROOT

CALL = "from hamlet_core.engines.hamlet import exact_numbers as n; print(n.sum_fits(1, 2), n.sum_fits(2, 1))"


def called(cache: Path, program: str = CALL) -> tuple[str, str]:
    """What a fresh process that keeps its kernels in `cache` says on stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
    )
    return done.stdout, done.stderr


def compiled_anew(function: object) -> int:
    """How many kernels of a function this process has compiled, not taken from the cache."""
    return sum(function.stats.cache_misses.values())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    return tmp_path


def doubled(x: int) -> int:
    return x + x


def first_of(arrays: object) -> float:
    return arrays[0][0]


def test_the_first_run_says_once_that_it_compiles_and_the_second_does_not(tmp_path: Path) -> None:
    assert called(tmp_path) == ("True True\n", f"{COMPILING}\n")
    assert called(tmp_path) == ("True True\n", "")


def test_kernels_of_others_are_not_our_news(tmp_path: Path) -> None:
    program = (
        "import hamlet_core.engines.hamlet.compilation, numba\n"
        "@numba.njit\ndef other(x): return x\n"
        "print(other(1))"
    )
    assert called(tmp_path, program) == ("1\n", "")


def test_kernels_are_taken_from_the_cache_while_no_source_has_changed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compiled(doubled)
    assert (first(2), compiled_anew(first)) == (4, 1)
    again = compiled(doubled)
    assert (again(2), compiled_anew(again)) == (4, 0)
    monkeypatch.setattr(kernel_cache, "kernel_stamp", lambda: "another source")
    changed = compiled(doubled)
    assert (changed(2), compiled_anew(changed)) == (4, 1)


def test_the_sources_are_all_modules_that_kernels_read() -> None:
    names = {path.name for path in kernel_sources()}
    assert {"numbers.py", "burst_kernel.py", "event_kernel.py", "pairs.py", "residues.py"} <= names
    assert "pair_tables.py" in names  # its constants are compiled into kernels
    assert "engine.py" not in names


def test_a_changed_source_changes_the_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = kernel_cache.kernel_stamp.__wrapped__
    before = fresh()
    source = tmp_path / "numbers.py"
    source.write_text("ZERO = 1\n")
    monkeypatch.setattr(kernel_cache, "_ROOT", tmp_path)
    monkeypatch.setattr(kernel_cache, "kernel_sources", lambda: (source,))
    one = fresh()
    source.write_text("ZERO = 2\n")
    assert len({before, one, fresh()}) == 3


def test_a_cache_that_cannot_be_written_costs_time_and_no_run(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = compiled(doubled)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    assert kernel(3) == 6


def test_a_kernel_that_cannot_be_read_is_compiled_again(place: Path) -> None:
    compiled(doubled)(2)
    (kept,) = place.rglob("*.nbc")
    kept.write_bytes(kept.read_bytes()[:100])
    again = compiled(doubled)
    assert (again(2), compiled_anew(again)) == (4, 1)


def test_a_cache_that_names_what_is_gone_is_forgotten(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a class of arguments has moved to another module in a newer version."""
    monkeypatch.setattr(sys.modules[__name__], "Moved", namedtuple("Moved", ["array"]), raising=False)  # noqa: PYI024
    globals()["Moved"].__module__ = __name__
    arena = globals()["Moved"](np.zeros(2))
    assert compiled(first_of)(arena) == 0
    monkeypatch.undo()
    monkeypatch.setattr("numba.config.CACHE_DIR", str(place))
    again = compiled(first_of)
    assert (again((np.ones(2),)), compiled_anew(again)) == (1, 1)
    last = compiled(first_of)
    assert (last((np.ones(2),)), compiled_anew(last)) == (1, 0)


def test_without_any_directory_kernels_are_compiled_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache._Kernels, "_locator_classes", ())
    assert KernelCache.of(doubled) is None
    assert compiled(doubled)(4) == 8
    assert cache_place() == kernel_cache.CachePlace(None, 0)


def test_many_processes_fill_one_cache_and_each_finds_its_own_kernels(tmp_path: Path) -> None:
    program = (
        "import sys; from hamlet_core.engines.hamlet.exact_numbers import compared\n"
        "x = {kind}\n"
        "print(compared(2, x(1), x(2)), compared.stats.cache_misses.total())"
    )
    kinds = ("int", "float", "__import__('numpy').int32", "__import__('numpy').float32")
    command = [sys.executable, "-c"]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}

    def all_at_once() -> list[str]:
        running = [
            subprocess.Popen(
                [*command, program.format(kind=kind)],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                cwd=ROOT,
                env=environment,
            )
            for kind in kinds
        ]
        return [process.communicate()[0] for process in running]

    assert all(line.startswith("True") for line in all_at_once())
    all_at_once()
    assert all_at_once() == ["True 0\n"] * len(kinds)


def test_the_place_of_the_cache_counts_its_kernels(place: Path) -> None:
    before = cache_place()
    assert (before.directory.parent, before.kernels) == (place, 0)
    from hamlet_core.engines.hamlet import exact_numbers

    assert compiled(exact_numbers.sum_fits.py_func)(np.int64(1), np.int64(2))
    assert cache_place().kernels == 1


def test_the_announcement_is_a_warning_of_the_package(caplog: pytest.LogCaptureFixture) -> None:
    from hamlet_core.engines.hamlet.compilation import _Announcement

    class Event:
        data = {"dispatcher": sum_fits}  # noqa: RUF012 - a stand-in

    announcement = _Announcement()
    announcement.on_start(Event)
    announcement.on_start(Event)
    assert [(one.name, one.levelno) for one in caplog.records] == [("hamlet_core", logging.WARNING)]
