"""restride's own columns: a device is kept at work while it becomes faster."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.workloads import FULL, SMALL

import restride as rs
from restride_measure import own
from restride_measure.run import compare
from restride_measure.workloads import Gradient, Resize


def test_a_device_is_kept_at_work_while_it_becomes_faster(vulkan_device, monkeypatch):
    assert own.keep_awake(vulkan_device)(1e9) is None, "a CPU is left alone"
    seconds = iter([0, 1, 1.5, 1.75, 2, 2.25])  # of batches: 1, 0.5, 0.25, 0.25, 0.25
    monkeypatch.setattr(own.time, "perf_counter", lambda: next(seconds))
    gpu = SimpleNamespace(info=SimpleNamespace(kind="discrete"), batch=vulkan_device.batch, wait=vulkan_device.wait)
    small = rs.empty("f32[2,2]", vulkan_device)
    monkeypatch.setattr(own.rs, "empty", lambda *_: small)
    monkeypatch.setattr(own.rs, "reorder", lambda *_, **__: None)
    own.keep_awake(gpu)(0.3)
    assert list(seconds) == [], "the last 0.3 s brought nothing"


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
