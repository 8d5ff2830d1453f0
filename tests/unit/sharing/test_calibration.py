"""The file of cost constants: written and read again, found where it should be, and refused in words."""

import json
from dataclasses import asdict, fields, replace

import pytest

from hamlet_core import StreamError
from hamlet_core.engines.registry import Options
from hamlet_core.sharing.calibration import (
    constants_file,
    constants_in_use,
    read_constants,
    write_constants,
)
from hamlet_core.sharing.costs import Constants

OWN = Constants(*range(1, len(fields(Constants)) + 1))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A configuration folder, and no file named otherwise."""
    monkeypatch.delenv("HAMLET_COST_MODEL")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "hamlet" / "cost_model.json"


def said(**changes):
    """The text of a file with some constants changed; None takes one away."""
    constants = {name: value for name, value in {**asdict(OWN), **changes}.items() if value is not None}
    return json.dumps({"constants": constants})


def test_without_a_file_the_constants_are_those_shipped(place):
    assert constants_file() == place
    assert constants_in_use() == Constants()


def test_what_is_written_is_read_by_later_runs(place):
    write_constants(place, OWN, {"machine": "one"})
    assert constants_in_use() == OWN
    assert Options().sharing.constants == OWN
    assert Options(cost_model="paper").sharing.constants == Constants()
    write_constants(place, replace(OWN, total=0.5), {})
    assert constants_in_use().total == 0.5
    assert [one.name for one in place.parent.iterdir()] == [place.name]


def test_the_variable_names_another_file_or_none(place, tmp_path, monkeypatch):
    write_constants(place, OWN, {})
    other = tmp_path / "other.json"
    write_constants(other, replace(OWN, apart=0.0), {})
    monkeypatch.setenv("HAMLET_COST_MODEL", str(other))
    assert constants_in_use().apart == 0.0
    monkeypatch.setenv("HAMLET_COST_MODEL", "")
    assert constants_file() is None
    assert constants_in_use() == Constants()


def test_a_folder_that_is_not_absolute_is_no_configuration_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("HAMLET_COST_MODEL")
    monkeypatch.setenv("XDG_CONFIG_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert constants_file() == tmp_path / ".config" / "hamlet" / "cost_model.json"


def test_a_file_that_is_named_must_be_there(tmp_path, monkeypatch):
    monkeypatch.setenv("HAMLET_COST_MODEL", str(tmp_path / "none.json"))
    with pytest.raises(StreamError, match="No such file") as caught:
        constants_in_use()
    assert caught.value.code == "E219"


DAMAGED = {
    "not JSON": (b'{"constants": ', "no JSON"),
    "not UTF-8": (b"\xff\xfe\xff", "no JSON"),
    "nested without end": (b"[" * 100_000, "no JSON"),
    "a list": (b"[1, 2]", r"\[1, 2\], where an object"),
    "no constants": (b'{"constant": {}}', "where an object with"),
    "a name is missing": (said(total=None), "no total, where exactly total, level"),
    "an unknown name": (said(totals=1), "the unknown name totals"),
    "negative": (said(level=-0.5), "-0.5 for level, where a finite number of nanoseconds, 0 or more"),
    "not a number": (said(level=float("nan")), "NaN for level"),
    "infinite": (said(mixed=float("inf")), "Infinity for mixed"),
    "beyond doubles": (said(mixed=10**400), r"10+\.\.\. for mixed"),
    "a text": (said(apart="20"), '"20" for apart'),
    "a truth": (said(apart=True), "true for apart"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_refused_in_words(name, place):
    content, words = DAMAGED[name]
    place.parent.mkdir()
    place.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(StreamError, match=words) as caught:
        constants_in_use()
    assert caught.value.code == "E219"
    assert str(place) in str(caught.value)
    assert "hamlet calibrate" in caught.value.hint


def test_a_file_is_read_once_a_process(place):
    write_constants(place, OWN, {})
    assert read_constants(place) == OWN
    place.write_text("damaged", "utf-8")
    assert constants_in_use() == OWN


def test_a_write_that_fails_leaves_the_old_file(place, monkeypatch):
    write_constants(place, OWN, {})
    with pytest.raises(TypeError):
        write_constants(place, OWN, {"machine": object()})
    assert constants_in_use() == OWN
    assert [one.name for one in place.parent.iterdir()] == [place.name]
