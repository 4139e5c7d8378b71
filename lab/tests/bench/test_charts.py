"""`restride bench --growth`: the lines of made-up times, and a run of small workloads."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from support.bench_reports import made_up, record

from restride.cli import main
from restride_bench.charts import chart_file, draw_growth
from restride_measure.workloads import BY_AXES, BY_BYTES, growth, result_elements

pytest.importorskip("matplotlib")
COPY = "the device's own copy"


def lines_of(axes):
    """Points of each line by its name."""
    return {line.get_label(): np.column_stack(line.get_data()) for line in axes.lines}


def test_a_line_for_each_task_and_one_for_the_copy():
    figure = draw_growth(record(made_up((*BY_BYTES, BY_AXES))), "resident")
    over_bytes, over_axes = figure.axes
    assert list(lines_of(over_bytes)) == [*BY_BYTES, COPY, "one binding"]
    assert list(lines_of(over_axes)) == [BY_AXES, COPY]
    assert all(axes.get_legend() is not None for axes in figure.axes)
    assert (over_bytes.get_xlabel(), over_bytes.get_ylabel()) == ("bytes of the result", "time of a call")
    assert over_axes.get_ylabel() == "time of an element"
    assert over_bytes.get_xscale() == over_bytes.get_yscale() == over_axes.get_yscale() == "log"
    title = figure.get_suptitle()
    assert "the fastest of 3 rounds" in title
    assert "warning: too busy" in title


def test_a_point_is_the_fastest_round_of_a_call_over_the_bytes_of_its_result():
    (axes,) = draw_growth(record(made_up(BY_BYTES[:1])), "resident").axes
    lines = lines_of(axes)
    np.testing.assert_allclose(lines["copy"], [(1 << n, 1e-9 * (1 << n)) for n in range(10, 31)])
    np.testing.assert_allclose(lines[COPY], [(1 << n, 0.5e-9 * (1 << n)) for n in range(10, 31)])
    assert lines["one binding"].tolist() == [[1 << 27, 0], [1 << 27, 1]], "a vertical line"


def test_the_plot_over_axes_shows_the_time_of_an_element():
    (axes,) = draw_growth(record(made_up((BY_AXES,))), "resident").axes
    np.testing.assert_allclose(lines_of(axes)[BY_AXES], [(rank, 4e-9) for rank in range(1, 9)])  # 4 bytes each


def test_a_result_that_was_not_measured_is_no_point_and_without_any_there_is_no_plot():
    made = made_up((BY_AXES,))
    twice = replace(made[7], seconds={"resident": {"restride": (8e-9 * result_elements(growth()[-1]),)}})
    lines = lines_of(draw_growth(record([*made[:7], twice]), "resident").axes[0])
    np.testing.assert_allclose(lines[BY_AXES][7], (8, 8e-9))
    assert len(lines[COPY]) == 7
    assert not draw_growth(record([]), "resident").axes


@pytest.mark.usefixtures("vulkan_device")
def test_a_small_run_draws_both_plots(tmp_path, capsys):
    growing, kept = tmp_path / "growth.svg", tmp_path / "growth.json"
    options = ("--small", "--repeat", "1", "--measure", "resident", "--growth", str(growing), "--json", str(kept))
    assert main(["bench", *options]) == 0
    assert "absent" not in capsys.readouterr().out
    assert {*BY_BYTES, BY_AXES} <= set(ET.parse(growing).getroot().itertext())
    made = json.loads(kept.read_text())
    assert {outcome["group"] for outcome in made["outcomes"]} == {*BY_BYTES, BY_AXES}
    assert made["options"]["peers"] == {}


def test_charts_are_written_in_both_formats():
    figure = draw_growth(record(made_up(BY_BYTES)), "resident")
    texts = set(ET.fromstring(chart_file(figure, ".svg")).itertext())
    assert set(BY_BYTES) <= texts
    assert any("\ncopy: 1.024 µs at 1 KiB to 1.07374 s at 1 GiB\n" in text for text in texts), "in words too"
    assert [figure.axes[0].xaxis.get_major_formatter()(1 << n, None) for n in (10, 30)] == ["1 KiB", "1 GiB"]
    assert chart_file(figure, ".png")[:4] == b"\x89PNG"
