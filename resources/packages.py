"""Brings the packages that files of requirements list, each checked by its SHA-256: by uv, or by pip where uv fails.

`python -m resources.packages FILE... [.]` installs into this Python, with `.` this project, too, and says every few
seconds how far it is; it ends with exit code 1 and a line where it cannot go on. It imports Python's own library only:
nothing else is there yet.
uv loads and unpacks at once what pip takes one after the other, and keeps what it unpacked for the next environment.
"""

from __future__ import annotations

import ast
import importlib.metadata
import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from resources.logged import run_logged, say

UV_FILE = Path("requirements", "uv.txt")
CHECKED = ("--require-hashes", "--no-deps")
"""Only what a file lists, and only with the digest that stands there."""

REFUSED = ("DO NOT MATCH THE HASHES", "Hash mismatch for")
"""What pip and uv say of a file that is not the one listed."""

SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}
"""What people tell pip about their network, and uv's variable for the same."""


class Refused(Exception):
    """A package is not the one whose digest is listed."""


def main(wanted: Sequence[str]) -> int:
    """Install what the files list, and this project for a `.`; 0 if all of it is there."""
    log = Path(sys.prefix, "install.log")
    log.write_bytes(b"")
    try:
        _pip(log)
        uv = _uv(log)
        for one in wanted:
            option = "--editable" if one == "." else "--requirement"
            _install(uv, ("--no-build-isolation", option, one), log)
    except Refused:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        first = next(at for at, line in enumerate(lines) if any(said in line for said in REFUSED))
        told = (line.strip() for line in lines[first:])
        told = (
            line
            for line in told
            if line.startswith(("Expected", "Got", "Computed", "sha256:")) or "==" in line
        )
        print("\n".join(told), file=sys.stderr)
        return _stopped("refused a package that is not the one whose SHA-256 stands in requirements/.")
    except subprocess.CalledProcessError:
        wrong = [line for line in log.read_text(errors="replace").splitlines() if line.startswith("ERROR")]
        print(*wrong[-1:], sep="\n", file=sys.stderr)
        what = "packages could not be installed: is there a network?"
        return _stopped(f"{what} (what uv and pip said: {log})")
    return 0


def uv_settings(listing: str, environ: Mapping[str, str]) -> dict[str, str] | None:
    """Variables by which uv asks the places that pip asks; None where pip is told what uv cannot be.

    `listing` is what `pip config list` prints. What stands in `environ` already goes first.
    """
    told: dict[str, str] = {}
    for section in ("global.", "install.", ":env:."):
        for line in listing.splitlines():
            name, _, value = line.removeprefix(section).partition("=")
            if line.startswith(section):
                told[name] = str(ast.literal_eval(value))
    if told.get("no-index", "0").lower() not in {"0", "false", "no", "off", ""}:
        return None
    links = [link for link in told.pop("find-links", "").split() if "://" in link or Path(link).exists()]
    if links:
        told["find-links"] = ",".join(links)
    said = {SETTINGS[name]: value for name, value in told.items() if name in SETTINGS}
    return {"UV_SYSTEM_CERTS": "1", **said, **{name: environ[name] for name in said if name in environ}}


def _pip(log: Path) -> None:
    """Python's own pip into an environment that was made without one, which takes most of the time of making one."""
    try:
        importlib.metadata.version("pip")  # the last that is written of it
    except importlib.metadata.PackageNotFoundError:
        _run([sys.executable, "-m", "ensurepip", "--default-pip"], log, "pip")


def _uv(log: Path) -> list[str]:
    """The beginning of uv's commands that install, empty where pip has to do."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    try:
        listing = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=True).stdout
        settings = uv_settings(listing, os.environ)
        if settings is None:
            return []
        _run([*pip, "install", *CHECKED, "--only-binary=:all:", "--requirement", str(UV_FILE)], log)
    except Refused:
        raise
    except (OSError, subprocess.CalledProcessError):
        return []
    os.environ.update(settings)
    uv = Path(sysconfig.get_path("scripts"), "uv")
    return [str(uv), "pip", "install", "--python", sys.executable]


def _install(uv: Sequence[str], wanted: Sequence[str], log: Path) -> None:
    checked = CHECKED if "--requirement" in wanted else ("--no-deps",)
    if uv:
        try:
            return _run([*uv, *checked, *wanted], log)
        except (OSError, subprocess.CalledProcessError):
            say("uv could not; pip takes over")
    pip = [sys.executable, "-m", "pip", "install", "--progress-bar", "off", "--use-pep517"]
    return _run([*pip, *checked, *wanted], log)


def _run(command: Sequence[str], log: Path, name: str = "") -> None:
    """Run a command, told by `name` or by what it installs. Raises CalledProcessError, and Refused where a digest is not the one listed."""
    try:
        run_logged(command, log, name or Path(command[-1]).stem or "this project")
    except subprocess.CalledProcessError as failure:
        if any(words in failure.output for words in REFUSED):
            raise Refused from failure
        raise


def _stopped(why: str) -> int:
    print(f"Set-up stopped: {why}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
