"""Pictures as PNG: one style, text as it stands in the data, and small enough for Dagster's event log."""

from __future__ import annotations

import base64
import io
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LARGEST = 95_000
"""Bytes of a picture: it stands in Dagster's event log, which is meant for less than 100 kB an entry."""

INK = "#1f2933"
FAINT = "#9aa5b1"
GRID = "#e4e7eb"
COLOURS = ("#1b6ca8", "#d95f02", "#1b9e77", "#7b3294", "#c2185b", "#8c6d1f")
"""Told apart by those who see no red or green, too."""

_STYLE: dict[Any, Any] = {
    "text.parse_math": False,
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8,
}
_DPI = (120, 100, 84, 70, 56, 44)
_PALETTE = 64


@contextmanager
def styled() -> Iterator[None]:
    """Everything drawn inside has the house's style; no text is read as a formula, and no backend is chosen."""
    import matplotlib as mpl

    with warnings.catch_warnings():
        # A font without a sign of some alphabet draws a box for it, which says as much as the warning.
        warnings.filterwarnings("ignore", message=r".*missing from font.*")
        # A handful of ticks is wanted, however long or short the time is.
        warnings.filterwarnings("ignore", message="AutoDateLocator was unable")
        with mpl.rc_context(_STYLE):
            yield


def figure(width: float, height: float) -> Figure:
    """An empty figure in inches; it belongs to nobody else and needs no display."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def png(drawn: Figure) -> bytes:
    """The figure as a PNG below `LARGEST` bytes, as sharp as that allows. To be called inside `styled`."""
    from PIL import Image

    for dpi in _DPI:
        target, packed = io.BytesIO(), io.BytesIO()
        drawn.savefig(target, format="png", dpi=dpi)
        # Few colours say as much, in a third of the bytes.
        Image.open(target).convert("RGB").quantize(_PALETTE).save(packed, format="png", optimize=True)
        if len(packed.getvalue()) <= LARGEST:
            break
    return packed.getvalue()


def markdown(picture: bytes, title: str) -> str:
    """A PNG as Markdown that holds the picture itself: for `MetadataValue.md`.

    >>> markdown(b"PNG", "the [plan]")
    '![the (plan)](data:image/png;base64,UE5H)'
    """
    plain = title.translate(str.maketrans("[]\n", "() "))
    return f"![{plain}](data:image/png;base64,{base64.b64encode(picture).decode()})"


def message(text: str) -> bytes:
    """A picture that says why there is none."""
    with styled():
        drawn = figure(7, 1.2)
        drawn.text(0.5, 0.5, text, ha="center", va="center", color=INK, wrap=True)
        return png(drawn)


def short(text: str, most: int) -> str:
    r"""Text of the data on one line of at most `most` signs.

    >>> short("a name\nthat is long", 12)
    'a name that…'
    """
    plain = "".join(" " if unicodedata.category(sign).startswith("C") else sign for sign in text)
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def bare(axes: Axes) -> None:
    """No axis, no grid: a drawing, not a chart."""
    axes.set_axis_off()
