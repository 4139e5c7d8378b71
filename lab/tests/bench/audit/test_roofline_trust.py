"""A check of the model of GPUs: its predictions for naive and tiled transposes, beside published measurements.

The figures of devices.toml and the constants of roofline.py were fixed before this file was written.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from restride_bench.audit.compiler import Key, compile_kernels
from restride_bench.audit.recording import GPU, Dispatch, record_workload
from restride_bench.audit.roofline import Device, Prediction, Work, known_devices, predict
from restride_bench.audit.traffic import Tracer
from restride_conformance.shader.part import SteeredLimits
from restride_measure.workloads import Move, Workload

DEVICES = known_devices()
CARDS = ("RX 6900 XT", "RX 580", "Arc A770", "RTX 4090", "H200")
NAIVE = SteeredLimits(**vars(GPU), widest_element=4, shortcuts=False)
"""Limits with which every copy uses strided_copy_32: element by element, in the order of the destination."""

SQUARE = "f32[4096,4096]"


@pytest.fixture(scope="module")
def model():
    """A function of a device and a dispatch: seconds and share of copy."""
    tracer = Tracer()
    traces, code = {}, {}

    def predict_dispatch(device: Device, dispatch: Dispatch) -> Prediction:
        kernel = dispatch.kernel
        if kernel not in traces:
            traces[kernel] = tracer.trace(dispatch)
        trace = traces[kernel]
        key = Key.of(kernel)
        if (device.family, key) not in code:
            code[device.family, key] = compile_kernels(device.family, [key])[key]
        compiled = code[device.family, key]
        work = Work(
            math.prod(kernel.groups) * compiled.local_size,
            compiled,
            trace.traffic,
            trace.shared.moved(device.cache),
            trace.turns,
        )
        return predict(device, [work], sum(binding.nbytes for binding in kernel.bindings))

    yield predict_dispatch
    tracer.close()


def transpose(src: str = SQUARE, axes: tuple[int, ...] = (1, 0), limits=GPU) -> Dispatch:
    (dispatch,) = record_workload(Workload("transpose", "", src, Move(axes)), limits)
    return dispatch


def naive_loads(src: str = SQUARE, axes: tuple[int, ...] = (1, 0)) -> Dispatch:
    """Neighbouring invocations store neighbouring elements, and load elements that are far apart."""
    dispatch = transpose(src, axes, NAIVE)
    assert dispatch.kernel.shader == "strided_copy_32"
    return dispatch


def naive_stores() -> Dispatch:
    """Neighbouring invocations load neighbouring elements, and store them far apart: the strides are swapped."""
    dispatch = naive_loads()
    table = np.frombuffer(dispatch.kernel.parameters, np.uint32).reshape(-1, 4).copy()
    table[2::3, [1, 2]] = table[2::3, [2, 1]]
    push = list(dispatch.kernel.push)
    push[6::5], push[7::5] = push[7::5], push[6::5]  # the axes among the push constants, after five words
    return dispatch._replace(kernel=replace(dispatch.kernel, parameters=table.tobytes(), push=tuple(push)))


@pytest.mark.parametrize("name", CARDS)
def test_a_naive_transpose_that_scatters_reaches_10_to_40_percent_of_copy(name, model):
    assert 0.1 <= model(DEVICES[name], naive_stores()).share <= 0.4


@pytest.mark.parametrize("name", CARDS)
def test_a_naive_transpose_that_gathers_reaches_10_to_40_percent_of_copy(name, model):
    """Two of the five devices reach more than is published; see the next test's figure for an RTX 4090."""
    most = 0.5 if name in {"Arc A770", "RTX 4090"} else 0.4
    assert 0.1 <= model(DEVICES[name], naive_loads()).share <= most


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("src", [SQUARE, "f16[4096,4096]", "u8[8192,8192]", "f64[2048,4096]"])
def test_a_padded_tile_reaches_90_percent_of_copy(src, name, model):
    dispatch = transpose(src)
    assert dispatch.kernel.shader.startswith("transpose_shared")
    assert model(DEVICES[name], dispatch).share >= 0.9


def test_a_naive_transpose_of_an_h100_takes_what_was_measured(model):
    """475 GB/s: yencal.github.io/gpu-matrix-transpose-optimization, kernel TransposeNaive, f32."""
    nbytes = 2 * 4 * 4096 * 4096
    assert nbytes / model(DEVICES["H100 HBM3"], naive_stores()).seconds / 1e9 == pytest.approx(475, rel=0.25)


def test_a_naive_transpose_of_an_rtx_4090_takes_what_was_measured(model):
    """2966.67 us for 256 matrices of 768 x 1024: github.com/ggml-org/llama.cpp/pull/16841, CPY before it.

    The source has f16; here it is f32 and an eighth of the matrices. Each element is one request to the shared cache,
    whatever its width.
    """
    dispatch = naive_loads("f32[32,1024,768]", (0, 2, 1))
    assert 8 * model(DEVICES["RTX 4090"], dispatch).seconds == pytest.approx(2966.67e-6, rel=0.25)


def test_a_naive_transpose_of_pytorch_takes_what_was_measured(model):
    """1.98 ms for f8 of 32,768 x 8,192: github.com/pytorch/pytorch/issues/113560, on a GPU that moves 2.4 TB/s.

    Here it is f32, an eighth of the matrices, for the reason above.
    """
    dispatch = naive_loads("f32[32768,1024]")
    assert 8 * model(DEVICES["H100 HBM3"], dispatch).seconds == pytest.approx(1.98e-3, rel=0.25)


def test_a_tile_on_an_rtx_4090_reaches_the_share_of_copy_that_was_measured(model):
    """1,572,864 KiB in 2119.14 us: the same page, with its kernel; a copy: 929.8 GB/s (arXiv:2402.13499)."""
    measured = (1_572_864 << 10) / 2119.14e-6 / 929.8e9
    assert model(DEVICES["RTX 4090"], transpose()).share == pytest.approx(measured, rel=0.25)


@pytest.mark.parametrize(("src", "measured"), [(SQUARE, 0.97), ("f16[4096,4096]", 1.0)])
def test_a_tile_on_a_gpu_with_hbm_reaches_the_share_of_copy_that_was_measured(src, measured, model):
    """0.95 to 0.99 of copy in f32 and 1.00 in f16 on a GB200, whose ratio of memory to shared cache is similar."""
    assert model(DEVICES["H200"], transpose(src)).share == pytest.approx(measured, rel=0.25)


@pytest.mark.xfail(reason="rows 3 MiB apart: pages and channels of memory, which the model does not know")
def test_rows_that_are_megabytes_apart_take_what_was_measured(model):
    """7642.58 us for f32 of 786,432 x 256: the same page. An eighth of the rows' length here, and of the time."""
    dispatch = naive_loads("f32[256,98304]")
    assert 8 * model(DEVICES["RTX 4090"], dispatch).seconds == pytest.approx(7642.58e-6, rel=0.25)
