"""What is printed while Great Expectations is imported; no JVM."""

from __future__ import annotations

import importlib
import sys
import threading

import click
import pytest

from pipelines.checks import suites


def test_remarks_of_an_import_are_not_printed_and_what_others_print_meanwhile_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun, told = threading.Event(), threading.Event()
    kept = []

    def remark(name: str) -> None:
        kept.append(sys.stdout)
        print("a remark")
        begun.set()
        assert told.wait(10)
        click.echo("another")

    monkeypatch.setattr(importlib, "import_module", remark)
    beside = threading.Thread(target=suites.load)
    before = sys.stdout
    beside.start()
    assert begun.wait(10)
    click.echo("q: 3 rows")
    print("after 1.0 s.")
    assert sys.stdout.encoding == before.encoding
    sys.stdout.flush()
    told.set()
    beside.join()
    assert sys.stdout is before
    kept[0].write("kept\n")
    assert capsys.readouterr().out == "q: 3 rows\nafter 1.0 s.\nkept\n"
