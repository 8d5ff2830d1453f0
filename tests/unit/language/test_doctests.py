"""The examples in the docstrings of the language hold."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import hamlet_core.language

MODULES = [module.name for module in pkgutil.iter_modules(hamlet_core.language.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"hamlet_core.language.{name}")
    assert doctest.testmod(module).failed == 0


def test_examples_are_found():
    found = doctest.DocTestFinder().find(importlib.import_module("hamlet_core.language.builder"))
    assert sum(len(one.examples) for one in found) > 8
