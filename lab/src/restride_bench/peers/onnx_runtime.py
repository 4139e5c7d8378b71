"""ONNX Runtime on the CPU: a model of a few nodes for each workload, which writes to existing memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from restride.dtypes import Array
from restride_conformance.operations import is_arithmetic
from restride_measure.offer import Offer, Peer, StridedCopy, factor_and_addend, installed, is_of_pixels, sampling
from restride_measure.workloads import Workload

_TYPES = {
    "u8": ("uint8", 2),
    "s8": ("int8", 3),
    "s16": ("int16", 5),
    "s32": ("int32", 6),
    "s64": ("int64", 7),
    "f16": ("float16", 10),
    "f32": ("float", 1),
    "f64": ("double", 11),
}
"""For each element type, its name in the text of a model and its number in TensorProto."""

_HEAD = '<ir_version: 8, opset_import: ["" : 18]>'
_ENDLESS = 1 << 40
_PLANES = (0, 3, 1, 2)


class OnnxRuntime(Peer):
    lingers = True

    def __init__(self) -> None:
        self._runtime = installed("onnxruntime", "onnxruntime")
        self._parse = installed("onnx.parser", "onnx").parse_model
        self.version: str = self._runtime.__version__

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        text = _model(workload)
        if text is None:
            return None
        options = self._runtime.SessionOptions()
        options.log_severity_level = 4
        model: bytes = self._parse(text).SerializeToString()
        session = self._runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        out = np.empty(workload.result_sizes, workload.result_dtype.dtype)
        binding = session.io_binding()
        binding.bind_cpu_input("x", source)
        binding.bind_ortvalue_output("y", self._runtime.OrtValue.ortvalue_from_numpy(out))

        def result() -> Array:
            array: Array = binding.get_outputs()[0].numpy()
            return array

        def through() -> Array:
            array: Array = session.run(None, {"x": source})[0]
            return array

        return Offer(resident=lambda: session.run_with_iobinding(binding), result=result, numpy=through)


def _model(workload: Workload) -> str | None:
    """A workload as the text of a model from ``x`` to ``y``; None if a few nodes cannot do it."""
    desc, result = workload.desc, workload.result_dtype.name
    if desc.dtype.name not in _TYPES or result not in _TYPES or not desc.rank:
        return None
    graph = _graph(workload, _TYPES[result][1])
    if graph is None:
        return None
    constants, nodes = graph
    x, y = (
        f"{_TYPES[dtype][0]}[{_listed(sizes)}] {name}"
        for name, dtype, sizes in (("x", desc.dtype.name, desc.sizes), ("y", result, workload.result_sizes))
    )
    return f"{_HEAD} workload ({x}) => ({y}) <{', '.join(constants)}> {{ {nodes} }}"


def _graph(  # noqa: PLR0911 - one for each kind of work
    workload: Workload, type_number: int
) -> tuple[list[str], str] | None:
    """The constants and the nodes of a model."""
    case, move = workload.case, StridedCopy.of(workload)
    if case is None or not workload.is_row_major or (move is not None and move.is_copy):
        return None
    rank, sizes, (factor, addend) = workload.desc.rank, workload.result_sizes, factor_and_addend(case)
    match move:
        case StridedCopy(axes) if move.is_permutation:
            return [], f"y = Transpose <perm = [{_listed(axes)}]> (x)"
        case StridedCopy(axes, steps) if axes == tuple(range(rank)):
            sliced = [axis for axis in axes if steps[axis] != 1]
            starts = [_ENDLESS if steps[axis] < 0 else 0 for axis in sliced]
            ends = [-_ENDLESS if steps[axis] < 0 else _ENDLESS for axis in sliced]
            columns = {"starts": starts, "ends": ends, "axes": sliced, "steps": [steps[axis] for axis in sliced]}
            return [_vector(*column) for column in columns.items()], "y = Slice (x, starts, ends, axes, steps)"
        case StridedCopy():
            return None
    match case.op:
        case "reorder" if not is_arithmetic(case):
            return [], f"y = Cast <to = {type_number}> (x)"
        case "reorder" if addend is not None:
            nodes = f"planes = Transpose <perm = [{_listed(_PLANES)}]> (x) wide = Cast <to = 1> (planes) "
            pairs = (("factor", factor), ("addend", addend))
            texts = [f"float[1,3,1,1] {name} = {{{_listed(values.ravel().tolist())}}}" for name, values in pairs]
            return texts, nodes + "scaled = Mul (wide, factor) y = Add (scaled, addend)"
        case "reorder" if not factor.ndim:
            limits = np.iinfo(workload.result_dtype.dtype)
            constants = {"scale": float(factor), "low": float(limits.min), "high": float(limits.max)}
            nodes = "scaled = Mul (x, scale) rounded = Round (scaled) clipped = Clip (rounded, low, high) "
            texts = [f"float {name} = {{{value!r}}}" for name, value in constants.items()]
            return texts, nodes + f"y = Cast <to = {type_number}> (clipped)"
        case "resample" if sampling(case)[0] != "cubic" and not is_of_pixels(case) and case.dst.dtype != "f16":
            mode, antialias = sampling(case)
            options = 'coordinate_transformation_mode = "half_pixel"'
            if mode == "nearest":
                options = 'coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"'
            elif antialias:
                options += ", antialias = 1, exclude_outside = 1"
            return [_vector("sizes", sizes)], f'y = Resize <mode = "{mode}", {options}> (x, , , sizes)'
        case _:
            return None


def _vector(name: str, values: Sequence[int]) -> str:
    return f"int64[{len(values)}] {name} = {{{_listed(values)}}}"


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(map(str, values))
