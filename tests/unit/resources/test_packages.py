"""Packages come by uv or by pip, only with the digest that is listed, and nobody waits without a word."""

from __future__ import annotations

import base64
import ensurepip
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import venv
import zipfile
from pathlib import Path

import pytest

from resources import logged
from resources.packages import SETTINGS, uv_settings
from tests.conftest import ROOT

UV = Path(sysconfig.get_path("scripts"), "uv")


class Site:
    """An index with one small wheel, the requirements that ask for it, and an environment to install it into."""

    def __init__(self, place: Path, environment: Path) -> None:
        self.place, self.prefix = place, place / "venv"
        shutil.copytree(environment, self.prefix, symlinks=True)
        self.wheel = place / "simple" / "tiny" / "tiny-1.0-py3-none-any.whl"
        self.wheel.parent.mkdir(parents=True)
        (self.wheel.parent / "index.html").write_text(f'<a href="{self.wheel.name}">{self.wheel.name}</a>')
        files = {
            "tiny.py": b"",
            "tiny-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
            "tiny-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        listed = [f"{name},sha256={_record(content)},{len(content)}" for name, content in files.items()]
        files["tiny-1.0.dist-info/RECORD"] = "\n".join([*listed, "tiny-1.0.dist-info/RECORD,,"]).encode()
        with zipfile.ZipFile(self.wheel, "w") as wheel:
            for name, content in files.items():
                wheel.writestr(name, content)

    @property
    def installed(self) -> bool:
        return any(self.prefix.glob("lib/python*/site-packages/tiny.py"))

    def bring(
        self, digest: str, *, with_uv: bool, index: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run `python -m resources.packages` where only the index answers, uv being there or not."""
        (self.place / "wanted.txt").write_text(f"tiny==1.0 --hash=sha256:{digest}\n")
        if with_uv:
            (self.prefix / "bin" / "uv").symlink_to(UV)
        (self.place / "requirements").mkdir()
        nothing_more = "" if with_uv else "uv==0.0.1 --hash=sha256:" + "0" * 64
        (self.place / "requirements" / "uv.txt").write_text(nothing_more)
        environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))},
            "PIP_INDEX_URL": index or self.wheel.parents[1].as_uri(),
            "PIP_RETRIES": "0",
            "UV_HTTP_RETRIES": "0",
            "UV_CACHE_DIR": str(self.place / "cache"),
            "PIP_CACHE_DIR": str(self.place / "pip"),
            "PYTHONPATH": str(ROOT),
        }
        command = [str(self.prefix / "bin" / "python"), "-m", "resources.packages", "wanted.txt"]
        return subprocess.run(
            command, cwd=self.place, env=environ, capture_output=True, text=True, check=False, timeout=120
        )


def _record(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that holds pip alone, which was brought first; nothing else was wanted, and uv is nowhere."""
    place = tmp_path_factory.mktemp("bare")
    venv.create(place / "venv", with_pip=False, symlinks=True)
    done = subprocess.run(
        [place / "venv" / "bin" / "python", "-m", "resources.packages"],
        cwd=place,
        env={**os.environ, "PIP_INDEX_URL": place.as_uri(), "PIP_RETRIES": "0", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return place / "venv"


@pytest.fixture
def site(tmp_path: Path, environment: Path) -> Site:
    return Site(tmp_path, environment)


@pytest.fixture(params=[True, False], ids=["uv", "pip"])
def with_uv(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_an_environment_without_pip_gets_that_of_its_python(environment: Path) -> None:
    command = [environment / "bin" / "python", "-m", "pip", "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"pip {ensurepip.version()} from {environment.resolve()}" in said


def test_a_package_with_its_digest_comes(site: Site, with_uv: bool) -> None:
    done = site.bring(hashlib.sha256(site.wheel.read_bytes()).hexdigest(), with_uv=with_uv)
    assert (done.returncode, done.stderr, site.installed) == (0, "", True), done
    record = next(site.prefix.glob("lib/python*/site-packages/tiny-1.0.dist-info/INSTALLER"))
    assert record.read_text().strip() == ("uv" if with_uv else "pip")


def test_a_package_with_another_digest_is_refused_and_both_are_told(site: Site, with_uv: bool) -> None:
    digest = "0" * 64
    done = site.bring(digest, with_uv=with_uv)
    assert (done.returncode, site.installed) == (1, False), done
    lines = done.stderr.splitlines()
    assert lines[-1].startswith("Set-up stopped: refused a package that is not the one whose SHA-256 stands")
    assert any("tiny==1.0" in line for line in lines), lines
    assert any(digest in line for line in lines), lines
    assert any(hashlib.sha256(site.wheel.read_bytes()).hexdigest() in line for line in lines), lines
    assert "pip takes over" not in done.stdout


def test_where_nothing_answers_both_were_tried_and_the_log_says_what_they_said(site: Site) -> None:
    digest = hashlib.sha256(site.wheel.read_bytes()).hexdigest()
    done = site.bring(digest, with_uv=True, index="http://127.0.0.1:9/simple")
    assert done.returncode == 1
    assert "uv could not; pip takes over" in done.stdout
    *_, last = done.stderr.splitlines()
    assert last.startswith("Set-up stopped: packages could not be installed: is there a network?")
    log = Path(last.rpartition("what uv and pip said: ")[2].rstrip(")")).read_text()
    assert "127.0.0.1:9" in log


def test_what_takes_long_is_told_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logged, "TOLD_EVERY", 0.05)
    slow = "import time; print('Building pyspark', flush=True); time.sleep(1.5)"
    assert logged.run_logged([sys.executable, "-c", slow], tmp_path / "log", "spark") == "Building pyspark\n"
    assert "s: spark: Building pyspark" in capsys.readouterr().out


def test_what_takes_too_long_is_ended(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        logged.run_logged(
            [sys.executable, "-c", "import time; time.sleep(60)"], tmp_path / "log", "it", seconds=1
        )
    assert time.monotonic() - began < 30


def test_uv_asks_where_pip_asks(tmp_path: Path) -> None:
    listing = f"""\
:env:.find-links='/nowhere {tmp_path}'
:env:.timeout='60'
global.cert='/etc/cert.pem'
global.extra-index-url='https://second.example/simple https://third.example/simple'
global.index-url='https://packages.example/simple'
install.index-url='https://nearer.example/simple'
"""
    assert uv_settings(listing, {}) == {
        "UV_SYSTEM_CERTS": "1",
        "SSL_CERT_FILE": "/etc/cert.pem",
        "UV_INDEX": "https://second.example/simple https://third.example/simple",
        "UV_DEFAULT_INDEX": "https://nearer.example/simple",
        "UV_FIND_LINKS": str(tmp_path),
    }


def test_what_uv_is_told_already_goes_first() -> None:
    listing = "global.index-url='https://packages.example/simple'"
    told = uv_settings(listing, {"UV_DEFAULT_INDEX": "https://own.example/simple", "UV_INDEX": "unused"})
    assert told == {"UV_SYSTEM_CERTS": "1", "UV_DEFAULT_INDEX": "https://own.example/simple"}


@pytest.mark.parametrize(("value", "by_uv"), [("1", False), ("true", False), ("0", True), ("no", True)])
def test_without_an_index_pip_has_to_do(value: str, by_uv: bool) -> None:
    assert (uv_settings(f"global.no-index='{value}'", {}) is not None) is by_uv


def test_every_setting_has_a_variable_of_its_own() -> None:
    assert len(set(SETTINGS.values())) == len(SETTINGS)


def test_packages_come_where_there_is_none_yet() -> None:
    """The module runs in an environment that holds pip alone."""
    program = "import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]; import resources.packages"
    subprocess.run([sys.executable, "-S", "-c", program], cwd=ROOT, check=True, timeout=60)
