"""`hamlet ui`: Dagster's web pages for a warehouse, started, watched and stopped cleanly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import click

from pipelines.commands.options import debug_option, warehouse_option

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 120
STOP_SECONDS = 10


@click.command(short_help="Assets, runs and checks in the browser.")
@warehouse_option
@click.option("--host", default="127.0.0.1", show_default=True, metavar="H", help="Address to listen on.")
@click.option(
    "--port", default=3000, show_default=True, metavar="N", type=click.IntRange(1, 65535), help="Port."
)
@click.option(
    "--workloads",
    metavar="DIR",
    type=click.Path(),
    help="Folder of workloads with pipeline.yaml, instead of the main job; it names the warehouse.",
)
@debug_option
def ui(warehouse: str, host: str, port: int, workloads: str | None) -> None:
    """Show assets, runs and checks of a warehouse in the browser, until Ctrl-C; schedules and sensors run meanwhile."""
    from pipelines.instance import dagster_home
    from resources.storage import Location, place_of

    folder = Path(workloads).absolute() if workloads else None
    place = _warehouse_of(folder) if folder else place_of(warehouse)
    home = dagster_home(place)
    _require_free(host, port)
    _hear_signals()
    click.echo("Starting Dagster ...", err=True)
    server = start(home, Location.of(place).address, host, port, folder)
    try:
        wait_until_ready(server, f"http://{host}:{port}")
        click.echo(f"http://{host}:{port}")
        sys.stdout.flush()
        click.echo("Stop with Ctrl-C.", err=True)
        if server.wait():
            raise click.ClickException("Dagster has stopped; its own words stand above")
    except KeyboardInterrupt:
        click.echo("Stopping.", err=True)
    finally:
        stop(server)


def _warehouse_of(folder: Path) -> Path | str:
    """Where the workloads of a folder write; mistakes in the folder are told before anything starts."""
    from pipelines.folder import WorkloadFolder

    read = WorkloadFolder.read(folder)
    for one in read.workloads:
        if one.problem is not None:
            click.echo(f"Left out: {one.file.name}: {one.problem}", err=True)
    return read.warehouse


def start(
    home: Path, warehouse: str, host: str, port: int, folder: Path | None = None
) -> subprocess.Popen[bytes]:
    """`dagster dev` in a session of its own, so that a signal reaches it once and from us."""
    command = [
        sys.executable, "-m", "dagster", "dev", "--module-name", "pipelines.definitions",
        "--host", host, "--port", str(port), "--log-level", "warning",
    ]  # fmt: skip
    settings = {
        **os.environ,
        "DAGSTER_HOME": str(home),
        "HAMLET_WAREHOUSE": warehouse,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
        "PYTHONWARNINGS": "ignore",
        **({"HAMLET_WORKLOADS": str(folder)} if folder else {}),
    }
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno(),
        cwd=home,
        env=settings,
        start_new_session=True,
    )


def wait_until_ready(server: subprocess.Popen[bytes], address: str) -> None:
    """Return when the pages answer. Raises click.ClickException if they never do."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise click.ClickException("Dagster did not start; its own words stand above")
        try:
            with urllib.request.urlopen(f"{address}/server_info", timeout=2):  # noqa: S310 - our own address
                return
        except OSError:
            time.sleep(0.2)
    raise click.ClickException(f"Dagster did not answer within {READY_SECONDS} s")


def stop(server: subprocess.Popen[bytes]) -> None:
    """End the server and all its children: politely, then not."""
    for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(server.pid, sign)
        except ProcessLookupError:
            return
        if _gone(server):
            return


def _gone(server: subprocess.Popen[bytes]) -> bool:
    """Whether the server's whole process group ends within STOP_SECONDS."""
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        server.poll()  # a child that nobody asks after stays a zombie
        try:
            os.killpg(server.pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def _hear_signals() -> None:
    """Stop on both signals, and let the server do so: a shell's `&` makes its jobs and their children ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def _require_free(host: str, port: int) -> None:
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise click.UsageError(
                f"{host}:{port} cannot be used ({error.strerror}); choose another --port"
            ) from None
