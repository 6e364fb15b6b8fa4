"""What all figures share: a canvas without global state, texts as they are written, and the same bytes on every run."""

import io
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito (2008), "Color universal design": told apart with every kind of colour blindness.
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
FileKind = Literal["png", "svg", "pdf"]
_METADATA: Final[Mapping[FileKind, dict[str, Any]]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
_WIDTH_INCHES: Final = 9.5
_DPI: Final = 150
_MOST_PIXELS: Final = 60_000


@contextmanager
def blank_figure(height_inches: float) -> Iterator[tuple["Figure", "Axes"]]:
    """Give an empty figure to draw in; it is laid out at the end.

    Parameters
    ----------
    height_inches : float
        A figure too high for a PNG file gets a lower resolution.

    Yields
    ------
    figure : matplotlib.figure.Figure
        On an Agg canvas; no global state of matplotlib is touched.
    axes : matplotlib.axes.Axes
        All of it.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with _plain_texts():
        dpi = min(_DPI, _MOST_PIXELS / height_inches)
        figure = Figure(figsize=(_WIDTH_INCHES, height_inches), dpi=dpi, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.tick_params(axis="y", length=0)
        axes.xaxis.grid(visible=True, color="#e0e0e0", zorder=0)
        axes.spines[["top", "right", "left"]].set_visible(False)
        yield figure, axes
        # Some texts come into being only when a figure is drawn.
        figure.draw_without_rendering()


def to_png(figure: "Figure") -> bytes:
    """Return a figure as a PNG file without a date or a version in it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        What to draw.

    Returns
    -------
    bytes
        The file.
    """
    return to_file(figure, "png")


def to_file(figure: "Figure", kind: FileKind) -> bytes:
    """Return a figure as a file without a date or a version in it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        What to draw.
    kind : {"png", "svg", "pdf"}
        Of file.

    Returns
    -------
    bytes
        The file.
    """
    import matplotlib as mpl

    buffer = io.BytesIO()
    with _plain_texts(), mpl.rc_context({"svg.hashsalt": "hetsim"}):
        figure.savefig(buffer, format=kind, metadata=_METADATA[kind])
    return buffer.getvalue()


@contextmanager
def _plain_texts() -> Iterator[None]:
    import matplotlib as mpl

    with mpl.rc_context({"text.parse_math": False}), warnings.catch_warnings():
        # A name in a script that the font lacks shows as boxes; the tables have it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield
