"""restride's own columns agree with the reference."""

import numpy as np
import pytest
from support.workloads import FULL, SMALL

import restride as rs
from restride_measure import own
from restride_measure.run import compare
from restride_measure.workloads import Gradient, Resize


@pytest.mark.parametrize("name", [each.name for each in FULL if isinstance(each.task, Resize | Gradient)])
def test_restride_agrees_with_its_reference(name, vulkan_device):
    (workload,) = (each for each in SMALL if each.name == name)
    source, task = workload.source(), workload.task
    made = own.offer(workload, source, vulkan_device)
    made.resident()
    match task:
        case Resize(sizes, mode, antialias):
            options = {"antialias": antialias, "exclude_outside": antialias, "like": task.like}
            word = "bilinear" if task.like == "pillow" else mode
            expected = rs.reference.resample(source, sizes, axes=task.axes(source.ndim), mode=word, **options)
        case Gradient(sizes):
            expected = rs.reference.resample_backward(source, sizes)
    assert compare(workload, "the reference", np.asarray(expected), made.result()) is None
