"""ONNX: the reference implementation of Resize-19 that its package brings, in float64 and element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from restride_like_check.judge import Array, Judge, Resize, Way, as_pixels

_LARGEST = 20
"""It takes a tenth of a millisecond for each element."""


def onnx() -> Judge:
    """Of the onnx that is installed."""
    import onnx

    ways = [
        Way("nearest", dtype, {}, _resize("nearest", {}), (1,), largest=_LARGEST, takes=is_right_for)
        for dtype in ("u8", "f32")
    ]
    for mode, arguments in (
        ("linear", {}),
        ("cubic", {}),
        ("linear", {"antialias": True}),
        ("cubic", {"antialias": True}),
        ("cubic", {"exclude_outside": True}),
    ):
        words = ", ".join((mode, *arguments))
        resize = _resize(mode, arguments)
        ways.append(Way(words, "f32", {"mode": mode, **arguments}, resize, (1,), largest=_LARGEST, takes=is_right_for))
    return Judge("onnx", "onnx", onnx.__version__, tuple(ways))


def is_right_for(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """False where it rounds a place to an element once and once not, and takes weights for the wrong elements.

    10 -> 14: output 10 reads at 7.000000000000001, a little past element 7, but beside 5, 6, 7 and 8: with two elements
    of an edge before it, that place is 9.0, which it takes for the last of those to its left.
    """
    for old, new in zip(before, after, strict=True):
        places = [2 * ((output + 0.5) / (new / old) - 0.5) for output in range(new)]  # halves are what nearest rounds
        if any(abs(place - round(place)) < 1e-9 and not place.is_integer() for place in places):
            return False
    return True


def _resize(mode: str, arguments: dict[str, Any]) -> Resize:
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    attributes: dict[str, Any] = {name: int(value) for name, value in arguments.items()}
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode=mode, **attributes)
    ends = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in ("x", "sizes", "y")]
    graph = helper.make_graph([node], "resize", ends[:2], ends[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])
    evaluator = ReferenceEvaluator(model)

    def resize(x: Array, sizes: tuple[int, int]) -> Array:
        (result,) = evaluator.run(None, {"x": x, "sizes": np.array(sizes, np.int64)})
        return as_pixels(result)

    return resize
