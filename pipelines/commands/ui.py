"""`hamlet ui`: Dagster's web pages for a warehouse, started, watched and stopped cleanly."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.commands.options import debug_option, warehouse_option
from pipelines.commands.ports import holder_of
from pipelines.commands.serving import Served, serve
from pipelines.showing.visible import visible

if TYPE_CHECKING:
    from resources.storage import Place

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 120
LOOK_SECONDS = 15
WAREHOUSE, PROCESS = "HAMLET_WAREHOUSE", "HAMLET_UI"
"""Environment variables of the servers: whose pages they show, and the `hamlet ui` that has started them."""


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
    home, address = dagster_home(place), Location.of(place).address
    _require_free(host, port, address)
    _hear_signals()
    click.echo("Starting Dagster ...", err=True)
    with _looking_after_runs(place) as look:
        server = start(home, address, host, port, folder)
        try:
            wait_until_ready(server, f"http://{host}:{port}")
            click.echo(f"http://{host}:{port}")
            sys.stdout.flush()
            click.echo("Stop with Ctrl-C.", err=True)
            while not server.ended_within(LOOK_SECONDS):
                look()
            raise click.ClickException("Dagster has stopped; its own words stand above")
        except SystemExit:
            click.echo("Stopping.", err=True)
            raise
        finally:
            server.stop()


@contextlib.contextmanager
def _looking_after_runs(place: Place) -> Iterator[Callable[[], object]]:
    """End the runs that died before this, and put ticks right; give a look that does so from now on."""
    from pipelines.instance import dagster_instance
    from pipelines.live_runs import SERVER, DeadRuns, end_dead_runs, locks_of
    from pipelines.ticks import forget_ticks_ahead

    def tell(words: str) -> None:
        click.echo(words, err=True)

    dead = DeadRuns(tell)

    def look() -> None:
        try:
            with dagster_instance(place) as instance:
                dead.end(instance)
                forget_ticks_ahead(instance, tell, daemon_runs=True)
        except Exception as failure:  # noqa: BLE001 - the next look may find the disk or the store well again
            tell(f"Could not look for runs that died: {failure}")

    with dagster_instance(place) as instance:
        end_dead_runs(instance, tell)
        forget_ticks_ahead(instance, tell)
        locks = locks_of(instance)
    with locks.sharing(SERVER):
        yield look


def _warehouse_of(folder: Path) -> Path | str:
    """Where the workloads of a folder write; mistakes in the folder are told before anything starts."""
    from pipelines.folder import WorkloadFolder

    read = WorkloadFolder.read(folder)
    for one in read.workloads:
        if one.problem is not None:
            click.echo(f"Left out: {one.file.name}: {visible(str(one.problem))}", err=True)
    return read.warehouse


def start(home: Path, warehouse: str, host: str, port: int, folder: Path | None = None) -> Served:
    """`dagster dev`, kept: it and all that it starts end with this process."""
    command = [
        sys.executable, "-m", "dagster", "dev", "--module-name", "pipelines.definitions",
        "--host", host, "--port", str(port), "--log-level", "warning",
    ]  # fmt: skip
    settings = {
        **os.environ,
        "DAGSTER_HOME": str(home),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
        "PYTHONWARNINGS": "ignore",
        WAREHOUSE: warehouse,
        PROCESS: str(os.getpid()),
        **({"HAMLET_WORKLOADS": str(folder)} if folder else {}),
    }
    return serve(command, home, settings)


def wait_until_ready(server: Served, address: str) -> None:
    """Return when the pages answer. Raises click.ClickException if they never do."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if server.ended():
            raise click.ClickException("Dagster did not start; its own words stand above")
        try:
            with urllib.request.urlopen(f"{address}/server_info", timeout=2):  # noqa: S310 - our own address
                return
        except OSError:
            time.sleep(0.2)
    raise click.ClickException(f"Dagster did not answer within {READY_SECONDS} s")


def _hear_signals() -> None:
    """End by each of the three signals alike, also in the background: a shell's `&` makes its jobs ignore SIGINT.

    Who starts this with `nohup` wants it to outlive its terminal.
    """
    for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if sign != signal.SIGHUP or signal.getsignal(sign) != signal.SIG_IGN:
            signal.signal(sign, _end)


def _end(sign: int, _: object) -> None:
    sys.exit(128 + sign)


def _require_free(host: str, port: int, warehouse: str) -> None:
    import errno
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            why = _holder(host, port, warehouse) if error.errno == errno.EADDRINUSE else error.strerror
            raise click.UsageError(f"{host}:{port} cannot be used: {why}; choose another --port") from None


def _holder(host: str, port: int, warehouse: str) -> str:
    """Which process has the port, and if that is a `hamlet ui`, of which warehouse."""
    holder = holder_of(port)
    if holder is None:
        return "another process listens there, of another user or outside this container: not to be seen from here"
    process, other = holder.environment.get(PROCESS), holder.environment.get(WAREHOUSE)
    if process is None or other is None or "dagster" not in holder.command:
        return f"process {holder.pid} listens there: {holder.command}"
    whose = "this warehouse" if other == warehouse else other
    return f"`hamlet ui` of {whose}, process {process} (its server: {holder.pid}), shows http://{host}:{port}"
