"""ONNX Runtime on the CPU: a model of a few nodes for each workload, its output bound to memory that is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from restride.dtypes import as_dtype
from restride_bench.offer import Offer, installed
from restride_bench.tasks import MEAN, STD, Array, Convert, Move, Normalize, Resize, Task, result_dtype, result_sizes
from restride_bench.workload import Workload

_TYPES = ("u8", "s8", "s16", "s32", "s64", "f16", "f32", "f64")
_OPSET, _IR_VERSION = 18, 8
_ENDLESS = 1 << 40
_MEAN, _STD = np.array(MEAN, np.float32), np.array(STD, np.float32)


class OnnxRuntime:
    """Its CPU provider."""

    name = "onnxruntime"
    lingers = True

    def __init__(self) -> None:
        """Import it, and what makes models.

        Raises:
            Absent: one of them is not installed.
        """
        self._runtime = installed("onnxruntime", "onnxruntime")
        self._onnx = installed("onnx", "onnx")
        installed("onnx.helper", "onnx")
        self.version: str = self._runtime.__version__

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        """See ``Peer.offer``."""
        dtype = workload.desc.dtype.name
        made_of = result_dtype(workload.task, dtype)
        if dtype not in _TYPES or made_of not in _TYPES or not source.shape:
            return None
        model = Model(self._onnx)
        if not model.add(workload.task, source.ndim, result_sizes(workload.task, source.shape), made_of):
            return None
        out = np.empty(result_sizes(workload.task, source.shape), as_dtype(made_of).dtype)
        session = self._session(model.serialized(source, out))
        binding = session.io_binding()
        binding.bind_cpu_input("x", source)
        binding.bind_ortvalue_output("y", self._runtime.OrtValue.ortvalue_from_numpy(out))

        def result() -> Array:
            made: Array = binding.get_outputs()[0].numpy()
            return made

        def through() -> Array:
            made: Array = session.run(None, {"x": source})[0]
            return made

        return Offer(
            resident=lambda: session.run_with_iobinding(binding),
            result=result,
            numpy=through,
        )

    def _session(self, model: bytes) -> Any:
        options = self._runtime.SessionOptions()
        options.log_severity_level = 4
        return self._runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class Model:
    """Nodes from ``x`` to ``y``, and the constants that they take."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def add(self, task: Task, rank: int, sizes: tuple[int, ...], result: str) -> bool:
        """The nodes of a task; False: there are none."""
        match task:
            case Move(axes, ()) if task.is_a_view:
                self._node("Transpose", "x", out="y", perm=axes)
            case Move(axes, steps) if steps and axes == tuple(range(rank)):
                self._slice(steps)
            case Convert(dtype, scale, False):
                self._convert(dtype, scale)
            case Normalize():
                mean, factor = (array.reshape(1, 3, 1, 1) for array in (_MEAN, 1 / _STD))
                self._node("Transpose", "x", out="planes", perm=(0, 3, 1, 2))
                self._node("Cast", "planes", out="wide", to=self._type("f32"))
                self._node("Sub", "wide", self._constant("mean", mean), out="centred")
                self._node("Mul", "centred", self._constant("factor", factor), out="y")
            case Resize(_, ("linear" | "nearest") as mode, antialias, False) if result != "f16":
                self._resize(mode, antialias, sizes)
            case _:
                return False
        return True

    def serialized(self, x: Array, y: Array) -> bytes:
        """The model."""
        helper = self._onnx.helper
        ends = [
            [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)]
            for name, array in (("x", x), ("y", y))
        ]
        graph = helper.make_graph(self._nodes, "workload", *ends, self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)])
        model.ir_version = _IR_VERSION
        data: bytes = model.SerializeToString()
        return data

    def _slice(self, steps: tuple[int, ...]) -> None:
        axes = [axis for axis, step in enumerate(steps) if step != 1]
        starts = [_ENDLESS if steps[axis] < 0 else 0 for axis in axes]
        ends = [-_ENDLESS if steps[axis] < 0 else _ENDLESS for axis in axes]
        columns = {"starts": starts, "ends": ends, "axes": axes, "steps": [steps[axis] for axis in axes]}
        names = [self._constant(name, np.array(values, np.int64)) for name, values in columns.items()]
        self._node("Slice", "x", *names, out="y")

    def _convert(self, dtype: str, scale: float | None) -> None:
        before = "x"
        if scale is not None:
            limits = np.iinfo(as_dtype(dtype).dtype)
            low, high = (self._constant(name, np.float32(getattr(limits, name))) for name in ("min", "max"))
            self._node("Mul", "x", self._constant("scale", np.float32(scale)), out="scaled")
            self._node("Round", "scaled", out="rounded")
            self._node("Clip", "rounded", low, high, out="clipped")
            before = "clipped"
        self._node("Cast", before, out="y", to=self._type(dtype))

    def _resize(self, mode: str, antialias: bool, sizes: tuple[int, ...]) -> None:
        options: dict[str, Any] = {"coordinate_transformation_mode": "half_pixel", "mode": mode}
        if mode == "nearest":
            options |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        elif antialias:
            options |= {"antialias": 1, "exclude_outside": 1}
        self._node("Resize", "x", "", "", self._constant("sizes", np.array(sizes, np.int64)), out="y", **options)

    def _node(self, kind: str, *inputs: str, out: str, **attributes: Any) -> None:
        self._nodes.append(self._onnx.helper.make_node(kind, list(inputs), [out], **attributes))

    def _constant(self, name: str, values: Any) -> str:
        self._constants.append(self._onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def _type(self, dtype: str) -> int:
        number: int = self._onnx.helper.np_dtype_to_tensor_dtype(as_dtype(dtype).dtype)
        return number
