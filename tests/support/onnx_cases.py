"""onnx's node tests of conversions, resizing and moves of elements, with the data that the onnx package ships."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests

OPERATIONS = (
    "Cast", "QuantizeLinear", "DequantizeLinear",
    "Resize", "Upsample",
    "Slice", "Transpose", "DepthToSpace", "SpaceToDepth",
)  # fmt: skip

MISSING_TYPES = {
    "UINT2": "2-bit integers are no element type here",
    "INT2": "2-bit integers are no element type here",
    "UINT4": "4-bit integers are no element type here",
    "INT4": "4-bit integers are no element type here",
    "FLOAT4E2M1": "4-bit floats are no element type here",
    "FLOAT8E8M0": "powers of two, the scales of MX blocks, are no element type here",
    "FLOAT8E4M3FNUZ": "of the 8-bit floats only e4m3fn and e5m2, OCP's, are element types here",
    "FLOAT8E5M2FNUZ": "of the 8-bit floats only e4m3fn and e5m2, OCP's, are element types here",
}
"""Types that restride does not have; cases with one of them are left out."""


@dataclass(frozen=True, eq=False)
class NodeCase:
    """One node with its inputs and outputs.

    operands: the inputs by their names in the operation's definition, without optional ones that are not passed.
    """

    name: str
    operation: str
    attributes: dict[str, Any]
    types: tuple[str, ...]
    operands: dict[str, np.ndarray[Any, Any]]
    output: np.ndarray[Any, Any]

    @property
    def inputs(self) -> tuple[np.ndarray[Any, Any], ...]:
        return tuple(self.operands.values())

    @property
    def missing_types(self) -> list[str]:
        return [name for name in self.types if name in MISSING_TYPES]


@functools.cache
def all_cases() -> tuple[NodeCase, ...]:
    """Every test of a single node of these operations, including those of CastLike, as a Cast.

    Tests that expand an operation to several nodes ("spacetodepth_expanded") have the same data and are left out.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # onnx computes the data of all its tests now, overflows included
        loaded = load_model_tests(kind="node")
    cases = []
    for case in loaded:
        nodes = [] if case.model is None else case.model.graph.node
        if len(nodes) != 1 or nodes[0].op_type not in OPERATIONS:
            continue
        (node,), ((inputs, outputs),) = nodes, case.data_sets
        graph = case.model.graph
        given = {value.name: _array(array) for value, array in zip(graph.input, inputs, strict=True)}
        formal = onnx.defs.get_schema(node.op_type, case.model.opset_import[0].version).inputs
        types = [value.type.tensor_type.elem_type for value in (*graph.input, *graph.output)]
        cases.append(
            NodeCase(
                case.name.removeprefix("test_"),
                node.op_type,
                {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute},
                tuple(onnx.TensorProto.DataType.Name(number) for number in types),
                {parameter.name: given[name] for parameter, name in zip(formal, node.input, strict=False) if name},
                _array(outputs[0]),
            )
        )
    return tuple(cases)


def node_cases(*operations: str) -> list[NodeCase]:
    """The cases of these operations whose types are all element types of restride."""
    return [case for case in all_cases() if case.operation in operations and not case.missing_types]


def left_out() -> dict[str, str]:
    """The reason for each case that ``node_cases`` leaves out, by its name."""
    return {case.name: MISSING_TYPES[case.missing_types[0]] for case in all_cases() if case.missing_types}


def _array(value: Any) -> np.ndarray[Any, Any]:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)
