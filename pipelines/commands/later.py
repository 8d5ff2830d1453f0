"""Commands of the public surface that do not exist yet: refused by name."""

from __future__ import annotations

import click

_ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True}


@click.command(
    context_settings=_ANYTHING, short_help="Fit the cost model to this machine (not available yet)."
)
def calibrate() -> None:
    """Measure the constants of the cost model on this machine; not available yet."""
    raise click.UsageError("calibrate is not available yet.")
