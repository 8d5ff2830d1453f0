"""`hamlet init`: a folder of workloads that runs, to be changed."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from pipelines.commands.options import debug_option

EVENTS = 2_000
SEED = 11
FIRST_DAY = "2026-01-05"
"""Of the generated events."""

FILES = {
    "pipeline.yaml": """\
# The stream: files of events, seen from this folder, and the columns with time and type.
events: inbox
# time: at                # default: time
# type: kind              # default: type
# warehouse: warehouse    # the Delta tables; or a URI such as s3://bucket/folder

# What must hold of the events; a run stops where it does not.
expectations:
  columns:
    speed: {low: 0, high: 300}
""",
    "jams.hamlet": """\
-- How many runs of ever slower reports are there per district, and how slow do they get?
jams: RETURN district, COUNT(*), MIN(t.speed)
      PATTERN Travel t+
      WHERE [driver, rider] AND t.speed > NEXT(t).speed
      GROUP-BY district
      WITHIN 1 hour SLIDE 30 min
""",
    "jams.cases.yaml": """\
# What the query must find in a few events: `hamlet test FOLDER` tells, and so does a check of every run.
- name: two reports that slow down are one run of two, and each is a run of one
  events: |
    time,type,driver,rider,district,speed
    2026-01-05T08:00:00Z,Travel,7,1,North,40
    2026-01-05T08:01:00Z,Travel,7,1,North,30
  rows:
    - window_start: 2026-01-05T07:30:00Z
      group: {district: North}
      values: {COUNT(*): 3, MIN(t.speed): 30}
    - window_start: 2026-01-05T08:00:00Z
      group: {district: North}
      values: {COUNT(*): 3, MIN(t.speed): 30}
""",
    "jams.yaml": f"""\
# How this workload is run: day by day, and every night while `hamlet ui --workloads .` runs.
partitions: daily
start: {FIRST_DAY}
schedule: "15 2 * * *"
""",
}

NEXT = (
    "run FOLDER/jams.hamlet --events FOLDER/inbox",
    "test FOLDER",
    f"backfill FOLDER jams {FIRST_DAY}",
    'query "SELECT * FROM jams__jams LIMIT 5" --warehouse FOLDER/warehouse',
    "ui --workloads FOLDER",
)
"""What to do with the folder."""


@click.command(short_help="A folder of workloads to start from.")
@click.argument("folder", metavar="FOLDER", type=click.Path())
@debug_option
def init(folder: str) -> None:
    """Write a folder of workloads that runs: settings, a query, and a day of generated rides.

    FOLDER must be empty, or not be there.
    """
    from hamlet_core.streams import generate_stream, write_csv

    place = Path(folder)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise click.UsageError(f"{folder} is there and not empty: name another folder.")
    (place / "inbox").mkdir(parents=True)
    write_csv(generate_stream("ridesharing", EVENTS, SEED), place / "inbox" / "rides.csv")
    for name, text in FILES.items():
        (place / name).write_text(text, encoding="utf-8")
    click.echo(f"{folder} is ready. Next:")
    for command in NEXT:
        click.echo(f"  hamlet {command.replace('FOLDER', shlex.quote(folder))}")
