"""Kernels are compiled once per machine, for the sources as they are, and a run says that it compiles."""

from __future__ import annotations

import logging
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from random import Random

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from hamlet_core.engines import hamlet
from hamlet_core.engines.hamlet.automaton.condition_arithmetic import sum_fits
from hamlet_core.engines.hamlet.jit import cache as kernel_cache
from hamlet_core.engines.hamlet.jit.cache import (
    KernelCache,
    SealedFiles,
    any_kernels,
    cache_place,
    kernel_sources,
)
from hamlet_core.engines.hamlet.jit.clock import _now
from hamlet_core.engines.hamlet.jit.decorators import COMPILING, Announcement, compiled
from hamlet_core.engines.hamlet.jit.libraries import KernelLibrary
from hamlet_core.progress import COMPILE_TIME
from tests.conftest import ROOT, tmpfs_command

CALL = "from hamlet_core.engines.hamlet.automaton import condition_arithmetic as n; print(n.sum_fits(1, 2), n.sum_fits(2, 1))"


HOW_FAR = "compiling kernels: "


def called(directory: Path, program: str = CALL) -> tuple[str, str]:
    """What a fresh process that keeps its kernels in `directory` says on stdout and stderr, but for how far it is."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(directory)},
    )
    said = [line for line in done.stderr.splitlines(keepends=True) if not line.startswith(HOW_FAR)]
    return done.stdout, "".join(said)


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
        "import hamlet_core.engines.hamlet.jit.decorators, numba\n"
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
    names = {str(path.relative_to(ROOT / "hamlet_core")) for path in kernel_sources()}
    rooms = {"automaton/conditions", "bursts/kernel", "events/kernel", "numbers/residues", "numbers/semiring"}
    assert {f"engines/hamlet/{module}.py" for module in rooms} <= names
    assert "predicates/pair_tables.py" in names  # its constants are compiled into kernels
    assert "engines/hamlet/engine.py" not in names


def modules_with_kernels() -> set[str]:
    """The modules of the engine in which numba compiles a function, as an import of all of them shows."""
    names = [found.name for found in walk_packages(hamlet.__path__, f"{hamlet.__name__}.")]
    values = [value for name in names for value in vars(import_module(name)).values()]
    return {value.py_func.__module__ for value in values if isinstance(value, Dispatcher)}


def test_a_change_in_any_module_with_kernels_makes_all_kernels_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = tmp_path / "hamlet_core"
    shutil.copytree(ROOT / "hamlet_core", core, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(kernel_cache, "_ROOT", tmp_path)
    monkeypatch.setattr(kernel_cache, "ENGINE", core / "engines" / "hamlet")
    monkeypatch.setattr(kernel_cache, "kernel_sources", kernel_cache.kernel_sources.__wrapped__)
    fresh = kernel_cache.kernel_stamp.__wrapped__

    def edited(module: str) -> str:
        path = tmp_path / f"{module.replace('.', '/')}.py"
        path.write_text(path.read_text("utf-8") + "\n", "utf-8")
        return fresh()

    modules = modules_with_kernels()
    assert {name.split(".")[3] for name in modules} >= {"automaton", "bursts", "events", "graphlets", "panes"}
    stamps = [fresh(), *map(edited, sorted(modules))]
    assert len(set(stamps)) == len(modules) + 1
    assert edited("hamlet_core.engines.hamlet.engine") == stamps[-1]


def test_a_changed_source_changes_the_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = kernel_cache.kernel_stamp.__wrapped__
    before = fresh()
    source = tmp_path / "semiring.py"
    source.write_text("ZERO = 1\n")
    monkeypatch.setattr(kernel_cache, "_ROOT", tmp_path)
    monkeypatch.setattr(kernel_cache, "kernel_sources", lambda: (source,))
    one = fresh()
    source.write_text("ZERO = 2\n")
    assert len({before, one, fresh()}) == 3


UNKEPT = "compiled kernels cannot be kept ({why}): each run compiles them anew; NUMBA_CACHE_DIR names another folder"


def test_a_cache_that_cannot_be_written_costs_time_and_no_run_and_is_told_once(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kernel_cache.tell_unkept.cache_clear()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SealedFiles, "save", full)
    assert (compiled(doubled)(3), compiled(halved)(3.0)) == (6, 1.5)
    told = [record.getMessage() for record in caplog.records if "kept" in record.getMessage()]
    assert told == [UNKEPT.format(why="No space left on device")]


@pytest.mark.needs_tmpfs
def test_a_full_disk_for_kernels_is_told_on_stderr(tmp_path: Path) -> None:
    mounted = 'mount -t tmpfs -o size=4k tmpfs "$1" && NUMBA_CACHE_DIR="$1" "$2" -c "$3"'
    done = subprocess.run(
        [*tmpfs_command(), "sh", "-c", mounted, "sh", str(tmp_path), sys.executable, CALL],
        capture_output=True, text=True, cwd=ROOT, check=True,
    )  # fmt: skip
    said = [line for line in done.stderr.splitlines() if not line.startswith(HOW_FAR)]
    assert (done.stdout, said) == ("True True\n", [COMPILING, UNKEPT.format(why="No space left on device")])


def test_without_any_folder_for_kernels_that_is_told_once_and_only_who_compiles_is_told(
    tmp_path: Path,
) -> None:
    nowhere = "from hamlet_core.engines.hamlet.jit import cache; cache._Kernels._locator_classes = ()\n"
    why = UNKEPT.format(why="no folder for them can be written")
    assert called(tmp_path, f"{nowhere}{CALL}") == ("True True\n", f"{COMPILING}\n{why}\n")
    assert called(tmp_path, f"{nowhere}import hamlet_core.engines.hamlet.engine") == ("", "")


def test_a_kernel_that_cannot_be_read_is_compiled_again(place: Path) -> None:
    compiled(doubled)(2)
    (kept,) = place.rglob("*.nbc")
    kept.write_bytes(kept.read_bytes()[:100])
    again = compiled(doubled)
    assert (again(2), compiled_anew(again)) == (4, 1)


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(7),
        pickle.dumps({1: 2}),
        pickle.dumps("an index of another version"),
        b"\x80\x04X\x02\x00\x00\x00\xff\xff.",
        b"no pickle",
    ],
)
def test_a_whole_index_of_another_shape_is_written_anew(place: Path, content: bytes) -> None:
    compiled(doubled)(2)
    (index,) = place.rglob("*.nbi")
    kernel_cache._seal(index, content)
    again = compiled(doubled)
    assert (again(2), compiled_anew(again)) == (4, 1)
    kept = compiled(doubled)
    assert (kept(2), compiled_anew(kept)) == (4, 0)


def test_an_index_whose_entries_have_another_shape_is_written_anew(place: Path) -> None:
    compiled(doubled)(2)
    (index,) = place.rglob("*.nbi")
    version, stamp, kernels = kernel_cache._unsealed(index)
    kernel_cache._seal(index, pickle.dumps((version, stamp, dict.fromkeys(kernels, "x"))))
    again = compiled(doubled)
    assert (again(2), compiled_anew(again)) == (4, 1)
    kept = compiled(doubled)
    assert (kept(2), compiled_anew(kept)) == (4, 0)


def files_of(cache: Path) -> list[Path]:
    """Indexes and kernels, in order."""
    return sorted((*cache.rglob("*.nbi"), *cache.rglob("*.nbc")))


def flipped(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 0xFF
    path.write_bytes(content)


def emptied(path: Path, _: int) -> None:
    path.write_bytes(b"")


def cut(path: Path, place: int) -> None:
    os.truncate(path, place % path.stat().st_size)


def of_another(path: Path, place: int) -> None:
    """Whole, and not what its name says."""
    others = [one for one in path.parent.glob(f"*{path.suffix}") if one != path]
    path.write_bytes(others[place % len(others)].read_bytes())


def foreign(path: Path, _: int) -> None:
    path.write_bytes(pickle.dumps("what another program keeps here"))


def folder(path: Path, _: int) -> None:
    path.unlink()
    path.mkdir()


WORK = """
import pyarrow as pa
from hamlet_core import run
events = pa.table({"time": [1, 2, 3, 4], "type": ["A", "B", "B", "A"], "v": [1, 2, 3, 4]})
rows = run("RETURN COUNT(*), SUM(b.v) PATTERN SEQ(A a, B b+) WITHIN 10 s", events)
print(rows["value"].to_pylist())
"""
RIGHT = "[3.0, 10.0]\n"


LOADS = """
from hamlet_core.engines.hamlet.jit.cache import SealedFiles
real = SealedFiles.load
def load(files, key):
    print(files._data_path(files._load_index()[key][0]))
    return real(files, key)
SealedFiles.load = load
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of all kernels that `WORK` needs."""
    cache = tmp_path_factory.mktemp("filled")
    assert called(cache, WORK)[0] == RIGHT
    return cache


@pytest.fixture(scope="module")
def loaded(filled: Path) -> list[Path]:
    """The kernels that `WORK` loads, in the cache, shortest first."""
    names = called(filled, LOADS + WORK)[0].splitlines()[:-1]
    return sorted(
        (Path(name).relative_to(filled) for name in names), key=lambda path: (filled / path).stat().st_size
    )


@pytest.mark.parametrize("harm", [flipped, cut, emptied, of_another, foreign, folder])
def test_damaged_files_are_compiled_again_and_the_result_is_right(
    filled: Path, loaded: list[Path], tmp_path: Path, harm: Callable[[Path, int], None]
) -> None:
    """A kernel, and the index of another, but not of the longest: compiling takes seconds."""
    cache, random = tmp_path / "kernels", Random(harm.__name__)
    shutil.copytree(filled, cache)
    kernel, other = random.sample(loaded[:-1], 2)
    for path in (kernel, other.with_name(f"{other.name.rsplit('.', 2)[0]}.nbi")):
        harm(cache / path, random.randrange(1 << 20))
    unkept = f"{UNKEPT.format(why='Is a directory')}\n" if harm is folder else ""
    assert called(cache, WORK) == (RIGHT, f"{COMPILING}\n{unkept}")
    assert called(cache, WORK) == (RIGHT, f"{COMPILING}\n{unkept}" if harm is folder else "")


def test_a_kernel_whose_code_changed_is_never_run(place: Path) -> None:
    """Not by chance: bytes all over the file, one at a time, are others."""
    compiled(doubled)(2)
    (kept,) = place.rglob("*.nbc")
    content, size = kept.read_bytes(), kept.stat().st_size
    files = SealedFiles(str(kept.parent), kept.name.rsplit(".", 2)[0], kernel_cache.kernel_stamp())
    (key,) = files._load_index()
    assert files.load(key)
    for at in range(0, size, 97):
        flipped(kept, at)
        assert files.load(key) is None
        kept.write_bytes(content)
    assert files.load(key)


KILLED = """
import os, signal, sys
import numba
replaced, real = 0, os.replace
def dying(*names):
    global replaced
    if replaced == {moves}:
        os.kill(os.getpid(), signal.SIGKILL)
    replaced += 1
    real(*names)
os.replace = dying
from hamlet_core.engines.hamlet.jit import cache as kernel_cache
kernel_cache.kernel_stamp = lambda: "another source"
from hamlet_core.engines.hamlet.jit import decorators as compilation
from tests.unit.engines.hamlet.jit.test_cache import {name} as function
print(compilation.compiled(function)(2.5))
"""
"""A process that has changed sources and is killed before the file number `moves` that it keeps is in its place."""


def halved(x: float) -> float:
    return x / 2


@pytest.mark.parametrize("moves", [0, 1])
def test_a_process_killed_while_it_keeps_a_kernel_leaves_none_of_other_sources(
    place: Path, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    module = sys.modules[__name__]
    assert compiled(module.halved)(2.5) == 1.25
    died = subprocess.run(
        [sys.executable, "-c", KILLED.format(moves=moves, name="halved")],
        cwd=ROOT,
        check=False,
        env=os.environ | {"NUMBA_CACHE_DIR": str(place)},
    )
    assert died.returncode == -signal.SIGKILL
    monkeypatch.setattr(kernel_cache, "kernel_stamp", lambda: "another source")
    after = compiled(module.halved)
    assert (after(2.5), compiled_anew(after)) == (1.25, 1)
    assert not list(place.rglob("*.part"))


def test_a_file_in_the_place_of_the_folder_costs_time_and_no_run(tmp_path: Path) -> None:
    (tmp_path / "kernels").touch()
    assert called(tmp_path / "kernels")[0] == "True True\n"


def test_the_place_of_the_cache_names_what_is_damaged(filled: Path, tmp_path: Path) -> None:
    cache = tmp_path / "kernels"
    shutil.copytree(filled, cache)
    program = (
        "from hamlet_core.engines.hamlet.jit.cache import cache_place; print(len(cache_place().damaged))"
    )
    assert called(cache, program)[0] == "0\n"
    files = files_of(cache)
    for number, harm in enumerate((flipped, cut, emptied, folder, foreign)):
        harm(files[number], 100)
    assert called(cache, program)[0] == "4\n"  # one of an older version is none


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


def test_machines_with_other_processors_share_a_cache_and_each_finds_its_own_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = (
        "from hamlet_core.engines.hamlet.automaton.condition_arithmetic import sum_fits\n"
        "print(sum_fits(1, 2), sum_fits.stats.cache_misses.total())"
    )
    processors = ({}, {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}, {"NUMBA_CPU_NAME": "core2"})
    for misses in (1, 0, 0):
        for processor in processors:
            with monkeypatch.context() as environment:
                for name, value in processor.items():
                    environment.setenv(name, value)
                assert called(tmp_path, program)[0] == f"True {misses}\n"


def test_many_processes_fill_one_cache_and_each_finds_its_own_kernels(tmp_path: Path) -> None:
    program = (
        "import sys; from hamlet_core.engines.hamlet.automaton.condition_arithmetic import compared\n"
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


ONE = """
import time
from hamlet_core.engines.hamlet.jit.libraries import KernelLibrary
real = KernelLibrary.finalize
def slow(library):
    time.sleep(2)
    real(library)
KernelLibrary.finalize = slow
from hamlet_core.engines.hamlet.automaton.condition_arithmetic import sum_fits
print(sum_fits(1, 2), sum_fits.stats.cache_misses.total())
"""


def at_once(cache: Path, count: int) -> list[subprocess.Popen[str]]:
    """Processes that need the same kernel, which takes two seconds to compile."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", ONE]
    return [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)
        for _ in range(count)
    ]


def test_processes_that_need_one_kernel_compile_it_once(tmp_path: Path) -> None:
    said = [process.communicate()[0] for process in at_once(tmp_path, 3)]
    assert sorted(said) == ["True 0\n", "True 0\n", "True 1\n"]
    assert not list(tmp_path.rglob("*.turn"))


def test_a_process_killed_while_it_compiles_keeps_nobody_waiting(tmp_path: Path) -> None:
    (first,) = at_once(tmp_path, 1)
    while not list(tmp_path.rglob("*.turn")):
        assert first.poll() is None
    first.kill()
    first.communicate()
    (second,) = at_once(tmp_path, 1)
    assert second.communicate(timeout=60)[0] == "True 1\n"


def test_who_gives_up_compiling_keeps_nobody_waiting(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while a notebook compiles, and the same cell once more: neither it nor another process waits."""
    kernel = compiled(doubled)

    def interrupted(_: KernelLibrary) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(KernelLibrary, "finalize", interrupted)
        with pytest.raises(KeyboardInterrupt):
            kernel(2)
    assert not kernel._cache._turns
    assert not list(place.rglob("*.turn"))
    assert kernel(2) == 4


def test_a_process_that_is_held_up_is_not_waited_for_for_ever(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_cache, "_PATIENCE", 0.2)
    first, second = compiled(doubled), compiled(doubled)
    assert first._cache._others_were_at_it("a signature", first.targetctx) is False
    assert second._cache._others_were_at_it("a signature", second.targetctx) is True
    assert not second._cache._turns
    first._cache._done_with("a signature")
    assert second._cache._others_were_at_it("a signature", second.targetctx) is False
    second._cache._done_with("a signature")


def test_the_place_of_the_cache_counts_its_kernels(place: Path) -> None:
    assert cache_place() == kernel_cache.CachePlace(place, 0)
    assert compiled(sum_fits.py_func)(np.int64(1), np.int64(2))
    assert cache_place() == kernel_cache.CachePlace(place, 1)
    compiled(_now.py_func)()
    assert cache_place() == kernel_cache.CachePlace(place, 2)
    assert len({path.parent for path in place.rglob("*.nbc")}) == 2  # a directory a room


def test_kernels_beside_the_sources_are_counted_in_every_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "one/kernel.py",
        "one/__pycache__/kernel.1.nbc",
        "two/__pycache__/kernel.1.nbc",
        "two/kernel.py",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    monkeypatch.setattr("numba.config.CACHE_DIR", "")
    monkeypatch.setattr(kernel_cache, "ENGINE", tmp_path)
    found = cache_place()
    assert (found.directory, found.kernels) == (tmp_path, 2)
    assert any_kernels()
    for kernel in tmp_path.rglob("*.nbc"):
        kernel.unlink()
    assert not any_kernels()
    assert {path.parent.parent.name for path in found.damaged} == {"one", "two"}  # empty files


def test_what_is_compiled_is_announced_once_and_then_how_far_it_is(caplog: pytest.LogCaptureFixture) -> None:
    class Event:
        data = {"dispatcher": sum_fits}  # noqa: RUF012 - a stand-in

    def told() -> list[str]:
        return [record.getMessage() for record in caplog.records]

    announcement = Announcement(every=0.01)
    announcement.on_start(Event)
    announcement.on_start(Event)  # a part of it
    announcement.on_end(Event)
    announcement.on_end(Event)
    announcement.on_start(Event)
    until = time.monotonic() + 60
    while len(told()) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    announcement.on_end(Event)
    assert announcement._telling is not None
    announcement._telling.join()
    assert told()[0] == COMPILING
    assert told()[1].startswith(f"{HOW_FAR}1 done, ")
    assert told().count(COMPILING) == 1
    assert {(one.name, one.levelno) for one in caplog.records} == {("hamlet_core", logging.WARNING)}


def test_nothing_is_told_of_what_takes_a_moment(caplog: pytest.LogCaptureFixture) -> None:
    class Event:
        data = {"dispatcher": sum_fits}  # noqa: RUF012 - a stand-in

    announcement = Announcement(every=0.5)
    announcement.on_start(Event)
    announcement.on_end(Event)
    assert announcement._telling is not None
    announcement._telling.join()
    assert [record.getMessage() for record in caplog.records] == [COMPILING]


def test_the_time_of_compiling_is_counted() -> None:
    class Event:
        data = {"dispatcher": sum_fits}  # noqa: RUF012 - a stand-in

    announcement, before = Announcement(every=0.001), COMPILE_TIME.seconds
    announcement.on_start(Event)
    time.sleep(0.01)
    announcement.on_end(Event)
    spent = COMPILE_TIME.seconds - before
    assert spent >= 0.01
    time.sleep(0.01)
    assert COMPILE_TIME.seconds - before == spent
