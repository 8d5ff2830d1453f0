"""What a commit says of itself, where there is a checkout and where there is none."""

from __future__ import annotations

import json
import re
import subprocess
from importlib.metadata import PackageNotFoundError

import pytest

from resources import provenance
from resources.provenance import Provenance, code_commit, code_version


@pytest.fixture(autouse=True)
def _fresh():
    for cached in (code_version, code_commit):
        cached.cache_clear()
    yield
    for cached in (code_version, code_commit):
        cached.cache_clear()


def test_the_message_has_what_is_known_and_nothing_else(monkeypatch):
    monkeypatch.setattr(provenance, "code_commit", lambda: "")
    said = json.loads(Provenance("r", "rides", "ab12").message("replace", where="workload = 'é\"'"))
    assert said == {
        "write": "replace",
        "run_id": "r",
        "workload": "rides",
        "workload_hash": "ab12",
        "code_version": code_version(),
        "where": "workload = 'é\"'",
    }
    assert set(json.loads(Provenance().message("create"))) == {"write", "code_version"}


def test_a_checkout_names_its_commit_and_whether_files_differ(tmp_path, monkeypatch):
    def git(*words: str) -> str:
        command = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@t", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    monkeypatch.setattr(provenance, "_ROOT", tmp_path)
    assert code_commit() == ""
    git("init", "-q")
    (tmp_path / "file").write_text("a")
    git("add", "file")
    git("commit", "-qm", "first", "--no-gpg-sign")
    code_commit.cache_clear()
    assert re.fullmatch(r"[0-9a-f]{12}", code_commit())
    assert git("rev-parse", "HEAD").startswith(code_commit())
    (tmp_path / "file").write_text("b")
    code_commit.cache_clear()
    assert code_commit().endswith("-dirty")


def test_without_git_or_package_there_is_less_to_say_and_no_failure(monkeypatch):
    def absent(_: str) -> str:
        raise PackageNotFoundError

    monkeypatch.setattr(provenance, "version", absent)
    monkeypatch.setattr(provenance.shutil, "which", lambda _: None)
    assert (code_version(), code_commit()) == ("", "")
    assert json.loads(Provenance("r").message("append")) == {"write": "append", "run_id": "r"}


def test_a_git_that_hangs_is_left_alone(monkeypatch):
    def hang(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("git", 5)

    monkeypatch.setattr(provenance.subprocess, "run", hang)
    assert code_commit() == ""
