"""Pictures as PNG: one style, text as it stands in the data, and small enough for Dagster's event log."""

from __future__ import annotations

import base64
import io
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL import Image

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
_DPI = (100, 84, 70, 56, 44)
"""The first is that of the pages: an inch of a picture is 100 of their pixels."""
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


def figure(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> Figure:
    """An empty figure in inches; it belongs to nobody else and needs no display.

    Without a layout each part has its place from the beginning, which is drawn in half the time.
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout=layout, facecolor="white")


def png(drawn: Figure) -> bytes:
    """The figure as a PNG below `LARGEST` bytes, as sharp as that allows. To be called inside `styled`."""
    from PIL import Image

    for dpi in _DPI:
        target = io.BytesIO()
        # Packed below, once and for all.
        drawn.savefig(target, format="png", dpi=dpi, pil_kwargs={"compress_level": 0})
        packed = _packed(Image.open(target).convert("RGB"))
        if len(packed) <= LARGEST:
            break
    return packed


def sheet(pictures: Sequence[bytes]) -> bytes:
    """Pictures of one size as one, in two columns."""
    from PIL import Image

    opened = [Image.open(io.BytesIO(one)).convert("RGB") for one in pictures]
    width, height = opened[0].size
    columns = min(2, len(opened))
    whole = Image.new("RGB", (columns * width, -(-len(opened) // columns) * height), "white")
    for place, one in enumerate(opened):
        whole.paste(one, (place % columns * width, place // columns * height))
    return _packed(whole)


def _packed(image: Image.Image) -> bytes:
    """As a PNG of few colours, which say as much in a third of the bytes."""
    packed = io.BytesIO()
    image.quantize(_PALETTE).save(packed, format="png", optimize=True)
    return packed.getvalue()


def markdown(picture: bytes, title: str) -> str:
    """A PNG as Markdown that holds the picture itself: for `MetadataValue.md`.

    >>> markdown(b"PNG", "the [plan]")
    '![the (plan)](data:image/png;base64,UE5H)'
    """
    return f"![{_plain(title)}]({address(picture)})"


def address(picture: bytes) -> str:
    """An address that holds the picture itself."""
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}"


def beside(addresses: Iterable[tuple[str, str]]) -> str:
    """Pictures by name and address as one piece of Markdown, beside one another as far as the page is broad.

    >>> beside([("jams", "/a"), ("a name that is longer than this", "/b")])
    '![jams](/a) ![a name that is long…](/b)'
    """
    return " ".join(f"![{_plain(short(name, 20))}]({where})" for name, where in addresses)


def _plain(title: str) -> str:
    return title.translate(str.maketrans("[]\n", "() "))


def message(text: str) -> bytes:
    """A picture that says why there is none."""
    with styled():
        drawn = figure(4.2, 1.0, layout=None)
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
