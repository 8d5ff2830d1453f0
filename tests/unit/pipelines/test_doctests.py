"""The examples in docstrings hold, of all packages."""

from __future__ import annotations

import doctest
import importlib

import pytest

from tests.architecture.test_imports import PACKAGES, sources

MODULES = [
    name
    for package in PACKAGES
    for name, path in sources(package)
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    done = doctest.testmod(importlib.import_module(name))
    assert done.attempted
    assert done.failed == 0


def test_examples_are_found() -> None:
    found = doctest.DocTestFinder().find(importlib.import_module("hamlet_core.language.builder"))
    assert sum(len(one.examples) for one in found) > 8
    assert {name.partition(".")[0] for name in MODULES} == {*PACKAGES}
