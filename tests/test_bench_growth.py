"""`restride bench --growth`: the plots of made-up times, and a run of small workloads."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise

import pytest
from test_bench import report

from restride.cli import main
from restride.drawing.shapes import Label, Line, Rect, write_png, write_svg
from restride_bench.growth import BY_AXES, BY_BYTES, growth, result_bytes, result_elements
from restride_bench.growth_chart import draw_growth
from restride_bench.plot import Axis, Curve, Plot, decades
from restride_bench.run import Result

DEVICE = {"name": "A device", "driver": "drv", "driver_version": "1.2", "limits": {"max_buffer_range": 1 << 27}}


def made_up(groups):
    """A call of a byte takes a nanosecond, the device's own copy half of that; each beside a slower round."""
    results = []
    for workload in growth():
        if workload.group in groups:
            seconds = 1e-9 * result_bytes(workload)
            columns = {"restride": (3 * seconds, seconds), "copy": (seconds, seconds / 2)}
            results.append(Result(workload, {"resident": columns}))
    return replace(report(), device=DEVICE, results=tuple(results))


def lines_of(figure, colour):
    return [shape for shape in figure.shapes if isinstance(shape, Line) and shape.colour == colour]


def marks_of(figure, colour):
    return [shape for shape in figure.shapes if isinstance(shape, Rect) and shape.fill == colour]


def colour_of(figure, curve):
    (label,) = (shape for shape in figure.shapes if isinstance(shape, Label) and ("curve", curve) in shape.data)
    return label.colour


def test_a_line_for_each_task_and_one_for_the_copy():
    figure = draw_growth(made_up((*BY_BYTES, BY_AXES)), "resident")
    for name in BY_BYTES:
        assert len(marks_of(figure, colour_of(figure, name))) in (21, 29), "the first colour is that of both plots"
    names = [shape.data[0][1] for shape in figure.shapes if isinstance(shape, Label) and shape.data]
    assert sorted(names) == sorted([*BY_BYTES, BY_AXES, *["the device's own copy"] * 2])
    texts = [shape.text for shape in figure.shapes if isinstance(shape, Label)]
    assert {"warning: too busy", "one binding", "time of a call", "time per element", "1 GiB", "1 us"} <= set(texts)
    assert any("the fastest of 3 rounds" in text for text in texts)


def test_what_grows_as_its_bytes_is_a_straight_line_and_half_the_time_lies_lower():
    figure = draw_growth(made_up(BY_BYTES[:1]), "resident")
    ours = lines_of(figure, colour_of(figure, "copy"))
    assert len(ours) == 20
    slopes = {round((line.to_y - line.y) / (line.to_x - line.x), 6) for line in ours}
    assert len(slopes) == 1
    places = marks_of(figure, colour_of(figure, "copy")), marks_of(figure, colour_of(figure, "the device's own copy"))
    lower = {round(copy.y - ours.y, 6) for ours, copy in zip(*places, strict=True)}
    assert len(lower) == 1
    assert lower.pop() > 0, "y goes down"


def test_over_axes_it_is_the_time_of_an_element():
    made = made_up((BY_AXES,))
    figure = draw_growth(made, "resident")
    ours = marks_of(figure, colour_of(figure, BY_AXES))
    assert len(ours) == 8
    assert len({round(mark.y, 6) for mark in ours}) == 1, "4 ns an element, of four bytes each"
    twice = replace(made.results[7], seconds={"resident": {"restride": (8e-9 * result_elements(growth()[-1]),)}})
    changed = draw_growth(replace(made, results=(*made.results[:7], twice)), "resident")
    heights = [mark.y for mark in marks_of(changed, colour_of(changed, BY_AXES))]
    assert heights[7] < heights[6]


def test_nothing_measured_is_no_plot():
    figure = draw_growth(replace(made_up(()), results=()), "resident")
    assert not [shape for shape in figure.shapes if isinstance(shape, Line)]


def test_values_lie_where_their_share_says():
    axis = Axis("", ((1.0, "1"), (100.0, "100")))
    assert axis.share(10) == pytest.approx(0.5)
    assert replace(axis, is_logarithmic=False).share(50.5) == pytest.approx(0.5)
    plot = Plot(10, 20, 100, 200, axis, Axis("", ((0.0, "0"), (1.0, "1")), is_logarithmic=False))
    marks = [each for each in plot.shapes([Curve("a", "#123456", ((1, 0), (100, 1)))]) if isinstance(each, Rect)][1:]
    assert [(mark.x + mark.width / 2, mark.y + mark.height / 2) for mark in marks] == [(10, 220), (110, 20)]


def test_names_of_lines_that_end_together_do_not_touch():
    axis = Axis("", ((1.0, "1"), (100.0, "100")))
    curves = [Curve(str(number), "#123456", ((1, 1), (100, 50 + number))) for number in range(4)]
    shapes = Plot(0, 0, 100, 100, axis, axis).shapes(curves)
    heights = [shape.y for shape in shapes if isinstance(shape, Label) and shape.data]
    assert all(lower - upper >= 12 for upper, lower in pairwise(heights))


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [(3, 200, [1, 10, 100, 1000]), (1e-6, 1e-5, [1e-6, 1e-5]), (10, 10, [10, 100]), (0.5, 2, [0.1, 1, 10])],
)
def test_decades(low, high, found):
    assert list(decades(low, high)) == pytest.approx(found)


@pytest.mark.usefixtures("vulkan_device")
def test_a_small_run_draws_both_plots(tmp_path, capsys):
    growing, record = tmp_path / "growth.svg", tmp_path / "growth.json"
    options = ("--small", "--repeat", "1", "--measure", "resident", "--growth", str(growing), "--json", str(record))
    assert main(["bench", *options]) == 0
    assert "absent" not in capsys.readouterr().out
    texts = [each.text for each in ET.parse(growing).iter("{http://www.w3.org/2000/svg}text")]
    assert {*BY_BYTES, BY_AXES} <= set(texts)
    made = json.loads(record.read_text())
    assert {result["group"] for result in made["results"]} == {*BY_BYTES, BY_AXES}
    assert made["peers"] == {}


def test_both_formats():
    figure = draw_growth(made_up(BY_BYTES), "resident")
    assert "transpose" in write_svg(figure)
    pytest.importorskip("PIL")
    assert write_png(figure)[:4] == b"\x89PNG"
