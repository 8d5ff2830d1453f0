"""`hamlet warm`: what the first run would wait for, made ahead."""

from __future__ import annotations

import click

from pipelines.commands.options import debug_option


@click.command(short_help="Compile kernels and load Spark's classes ahead of a run.")
@click.option("--kernels", is_flag=True, help="Only the kernels, which need no Java.")
@debug_option
def warm(kernels: bool) -> None:
    """Compile the kernels of the shipped example, and archive Spark's classes, so that runs wait for neither.

    Set-up does it. What is there already is not done again; what changes (Java, the JARs, this package) makes it anew.
    """
    from pipelines.warming import warm as get_ready

    get_ready(lambda line: click.echo(f"      {line}", err=True), only_kernels=kernels)
