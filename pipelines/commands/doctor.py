"""`hamlet doctor`: what Spark and the kernels need of this machine, a line each, with its cure."""

from __future__ import annotations

import click

from pipelines.commands.options import debug_option, warehouse_option


@click.command(short_help="What Spark needs of this machine, and each cure.")
@warehouse_option
@debug_option
def doctor(warehouse: str) -> None:
    """Look at Python, packages, Java, the Delta JARs, disk, loopback, memory, compiled kernels and constants; exit code 1 if one is red."""
    from resources.doctor import cost_model, diagnose, kernels
    from resources.storage import place_of

    findings = (*diagnose(place_of(warehouse)), kernels(), cost_model())
    for finding in findings:
        mark = click.style("ok ", fg="green") if finding.ok else click.style("RED", fg="red", bold=True)
        click.echo(f"{mark}  {finding.line}")
    red = sum(not finding.ok for finding in findings)
    if red:
        click.echo(f"{red} of {len(findings)} to cure; what to do stands behind each arrow.", err=True)
        raise click.exceptions.Exit(1)
