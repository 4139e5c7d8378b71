"""lab/tools/pipelines.py measures the pipelines of docs/preprocess.md."""

import numpy as np
import pipelines
import pytest

import restride as rs
from restride_like_check.images import photograph


def test_the_page_has_a_row_for_each_pipeline():
    page = pipelines.PAGE.read_text(encoding="utf-8")
    *_, last = pipelines.sections(page)
    assert f"## {last}" == pipelines._HEADING, "--write replaces all from it on"
    written = pipelines.sections(page)[last]
    titles = pipelines.shown(page)
    assert len(titles) == 3
    rows = [tuple(cell.split(", ")[0] for cell in line.split(" | ")[:2]) for line in written.splitlines()]
    for title in titles:
        for photo in pipelines.PHOTOGRAPHS:
            assert (f"| {title.split(', ')[0]}", photo) in rows


def test_the_photographs_of_the_pipelines_are_shipped():
    pytest.importorskip("skimage")
    assert all(photograph(name).ndim == 3 for name in pipelines.PHOTOGRAPHS)


def test_a_pipeline_is_measured_and_a_stream_flows(vulkan_device):
    example = pipelines.Example("", lambda photo: photo + 1.0, lambda photo: photo + 1.5)
    measured = pipelines.measure(example, np.zeros((4, 4)), seconds=0.0)
    assert measured.difference == 0.5
    assert min(measured) > 0
    recipe = rs.Preprocess((8, 8), depth=2, device=vulkan_device)
    flow = pipelines.flow(recipe, np.zeros((9, 9, 3), np.uint8), vulkan_device, frames=pipelines.SETTLED + 5)
    assert flow.most >= flow.in_use >= recipe(np.zeros((9, 9, 3), np.uint8)).desc.nbytes
    assert flow.seconds > 0
    assert flow.slow > 0
