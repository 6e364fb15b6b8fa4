"""The plot shows every row once, fits its texts, and is the same bytes on every run."""

import itertools

import pytest

from hetsim import compare
from hetsim.report.figure import to_png
from hetsim.report.plot import comparison_figure

PLACEMENT = "jobs[train].placement.policy"
AXES = {
    "jobs[train].gradient": ["1 MB", "100 MB"],
    PLACEMENT: ["default-tensorflow", "infrastructure-aware", "random"],
}


@pytest.fixture
def figure(small: dict) -> object:
    small["description"] = "A very long description " * 12 + "$1 is no formula"
    return comparison_figure(compare(small, AXES))


def test_every_row_has_a_bar_and_a_label(figure) -> None:
    (axes,) = figure.axes
    assert len(axes.patches) == 6
    assert [label.get_text() for label in axes.get_yticklabels()] == AXES[PLACEMENT] * 2
    texts = [text.get_text() for text in axes.texts]
    assert "gradient 1 MB" in texts
    assert sum("x" in text and " s " in text for text in texts) == 4


def test_axis_starts_at_zero_and_names_metric_and_direction(figure) -> None:
    (axes,) = figure.axes
    assert axes.get_xlim()[0] == 0.0
    assert axes.get_xlabel().startswith("train time (s), lower is better; mean of 3 replications")


def test_texts_neither_overlap_nor_leave_the_page(figure) -> None:
    figure.draw_without_rendering()
    (axes,) = figure.axes
    boxes = [text.get_window_extent() for text in [*axes.texts, *axes.get_yticklabels(), axes.title]]
    width, height = figure.bbox.width, figure.bbox.height
    assert all(box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height for box in boxes)
    shown = [text for text in axes.texts if text.get_text()]
    for one, other in itertools.combinations(shown, 2):
        assert not one.get_window_extent().overlaps(other.get_window_extent()), (one, other)


def test_png_is_the_same_bytes_and_grows_with_the_rows(small: dict) -> None:
    few, again = (to_png(comparison_figure(compare(small))) for _ in range(2))
    many = comparison_figure(compare(small, {"jobs[train].steps": list(range(1, 21))}))
    assert few == again
    assert few.startswith(b"\x89PNG")
    assert many.get_figheight() > 2 * comparison_figure(compare(small)).get_figheight()


def test_metric_of_zero_everywhere_can_be_drawn(small: dict) -> None:
    small["jobs"][0] |= {"jitter": {"cv": 0}, "aggregation": {"policy": "ring"}, "workers": 1, "gradient": "1 MB"}
    assert to_png(comparison_figure(compare(small, metric="wait_s")))


def test_a_bar_of_an_interval_that_was_cut_starts_where_it_was_cut(small: dict) -> None:
    small |= {"replications": 2, "seed": 1}
    small["jobs"][0] |= {"jitter": {"cv": 2.0}, "steps": 1}
    comparison = compare(small)
    assert any(row.ci_low == 0.0 for row in comparison.rows)
    (axes,) = comparison_figure(comparison).axes
    ends = [segment[:, 0].tolist() for lines in axes.collections for segment in lines.get_segments()]
    assert ends == [pytest.approx([row.ci_low, row.ci_high]) for row in comparison.rows]


def test_glyphs_that_the_font_lacks_are_no_warning(small: dict) -> None:
    small["description"] = "\u8a13\u7df4 $\\frac{1$"
    assert to_png(comparison_figure(compare(small)))
