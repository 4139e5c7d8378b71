"""Every keyword of every public function has an effect, or is refused: a row for each shows it.

A row is the keyword, other keywords of both calls, and the value of the second call, whose result, standard error or
work on a device must differ from those of the first. A new keyword needs a row in ``DOORS`` before it passes here.
"""

from __future__ import annotations

import importlib
import inspect
import io
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from support.devices import open_device
from support.judges import judge

import restride as rs
from restride import progress
from restride.compat import cv2, pil
from restride.compat import torch as compat_torch

RNG = np.random.default_rng(49)
X = RNG.uniform(-200, 200, (2, 3, 6, 8)).astype(np.float32)
MATRIX = X[0, 0]
BYTES = RNG.integers(0, 256, (6, 8, 3), dtype=np.uint8)
ALPHA = RNG.integers(0, 256, (6, 8, 4), dtype=np.uint8)
GRADIENT = X[:, :, :3, :5]
TABLES = RNG.integers(0, 256, (6, 256), dtype=np.uint8)
FLOATS = np.zeros(BYTES.shape, np.float32)
VOLUME = RNG.integers(0, 256, (2, 4, 6, 8), dtype=np.uint8)


class Here(NamedTuple):
    """What rows may need: a second device, and a new folder."""

    other: rs.Device
    folder: Path


class With(NamedTuple):
    """A value that is made for the call."""

    of: Callable[[Here], Any]


OTHER = With(lambda here: here.other)
OUT = With(lambda _: None)
"""The value of an ``out``: a tensor for the result, which is then the result."""
Row = tuple[dict[str, Any], Any]
"""Keywords of both calls, and the value of the second."""


class Refused(NamedTuple):
    """A value that is refused, and a part of the message: no value, or none without others, has an effect."""

    value: Any
    message: str


class Kept(NamedTuple):
    """A value that is accepted and changes nothing, and the reason."""

    value: Any
    reason: str


class Door(NamedTuple):
    """A public function: a call of it, by keywords, and a row for each of its keywords.

    needs: the package without which the function is not there.
    """

    call: Callable[..., Any]
    rows: Mapping[str, Row]
    needs: str = "numpy"


# Keywords that many functions have.

CROP: dict[str, Any] = {"coordinates": "tf_crop_and_resize", "roi": (0, 0, 1.5, 1.5)}
BY_SCALES: dict[str, Any] = {"sizes": None, "scales": (0.55, 0.55)}

FILTERS: dict[str, Row] = {
    "mode": ({}, "cubic"),
    "coordinates": ({}, "asymmetric"),
    "nearest": ({"mode": "nearest"}, "floor"),
    "cubic_a": ({"mode": "cubic"}, -0.5),
    "antialias": ({}, True),
    "exclude_outside": ({"mode": "cubic"}, True),
    "like": ({}, "pillow"),
}
RULES: dict[str, Row] = FILTERS | {
    "roi": (CROP, (0, 0, 0.5, 0.5)),
    "input_offsets": ({}, (0.25, 0.25)),
    "output_offsets": ({}, (0, 0)),
    "recompute_scale_factor": (BY_SCALES, True),
}
REQUEST: dict[str, Row] = RULES | {
    "extrapolation_value": (CROP, 4.0),
    "keep_aspect_ratio_policy": ({}, "not_larger"),
}
WHERE: dict[str, Row] = {
    "sizes": ({}, (2, 2)),
    "scales": (BY_SCALES, (0.25, 0.25)),
    "axes": ({}, (1, 2)),
}
BACKWARD: dict[str, Row] = RULES | {
    "scales": ({}, (0.55, 0.65)),
    "axes": ({"axes": (2, 3), "array": X[:, :, :3, :3], "input_sizes": (6, 7)}, (3, 2)),
    "recompute_scale_factor": ({"scales": (0.55, 0.65)}, True),
    "layout": ({}, "ABCD->ACDB"),
    "dtype": ({}, "f16"),
}
SCALES: dict[str, Row] = {
    "src_scale": ({}, 0.5),
    "src_zero_point": ({}, 0.5),
    "dst_scale": ({}, 0.5),
    "dst_zero_point": ({}, 0.5),
}
NUMBERS: dict[str, Row] = SCALES | {
    "post_ops": ({}, [("relu",)]),
    "rounding": ({"dtype": "s8"}, "truncate"),
    "saturate": ({"dtype": "s8"}, False),
}
RESULT: dict[str, Row] = {"layout": ({}, "ABCD->ACDB"), "dtype": ({}, "f16")}
GROUPS: dict[str, Row] = {"group_sizes": ({"src_scale": [[[[1, 2]]]], "group_sizes": (1, 1, 1, 4)}, (1, 1, 1, 5))}
SUM: dict[str, Row] = {"sum_scale": ({"adds": True}, 2.0)}
PLANNED: dict[str, Row] = {
    "dst": ({}, "f16[2,3,3,5]{0,1,2,3}"),
    "device": ({}, Refused("gpu", "device must be a restride.Device")),
}
QUANTIZED: dict[str, Row] = {
    "zero_point": ({}, 3),
    "axis": ({"scale": [1, 2], "array": X[:, :2, :2, :2], "axis": 1}, -1),
    "block_size": ({"scale": np.array([[[[1, 2]]]]), "axis": 3, "block_size": 4}, 5),
    "layout": ({}, "ABCD->ACDB"),
}
QUANTIZE = QUANTIZED | {"dtype": ({}, "s8"), "saturate": ({"dtype": "f8e5m2", "scale": 1e-4}, False)}
DEQUANTIZE = QUANTIZED | {
    "dtype": ({}, "f16"),
    "axis": ({"scale": [1, 2], "array": X[:, :2, :2, :2].astype(np.int8), "axis": 1}, -1),
}
NORMALIZE: dict[str, Row] = {
    "axis": ({"mean": [0.1, 0.2], "array": BYTES[:2, :2, :2]}, 0),
    "layout": ({}, "HWC->CHW"),
    "dtype": ({}, "f16"),
    "like": ({"array": BYTES, "std": 0.23}, "transformers"),
}
LOOKUP: dict[str, Row] = {
    "axis": ({"table": TABLES[:6], "array": BYTES[:, :6, 0], "axis": 0}, 1),
    "layout": ({}, "HWC->CHW"),
    "dtype": ({}, "f16"),
}
CREATED: dict[str, Row] = {"dtype": ({}, "f16"), "device": ({}, OTHER)}


def on_array(function: Callable[..., Any], default: Any, **base: Any) -> Callable[..., Any]:
    """A call of a function of an array, which a row may replace by another ``array``; ``adds``: to ones as ``out``."""

    def call(*, array: Any = default, adds: bool = False, **named: Any) -> Any:
        if adds:
            named["out"] = rs.asarray(np.ones_like(function(array, **base).numpy()))
        return function(array, **{**base, **named})

    return call


def planned(function: Callable[..., Any], default: Any, **base: Any) -> Callable[..., Any]:
    """A call of a function that plans: the result of its plan."""

    def call(*, array: Any = default, adds: bool = False, **named: Any) -> Any:
        x = rs.asarray(np.ascontiguousarray(array))
        plan = function(x.desc, **{**base, **named})
        return plan(x, rs.asarray(np.ones(plan.dst.sizes, np.float32)) if adds else None)

    return call


def chained(name: str, default: Any, **base: Any) -> Callable[..., Any]:
    """A call of a method of ``Chain``: the result of the chain for an array."""

    def call(*, array: Any = default, **named: Any) -> Any:
        return rs.LazyArray(array, getattr(rs.Chain(), name)(**{**base, **named}))[...]

    return call


def dask(name: str, *arguments: Any, **base: Any) -> Callable[..., Any]:
    """A call of a function for dask: chunks and elements of its result."""

    def call(**named: Any) -> Any:
        module = importlib.import_module("restride.interop.dask")
        array = importlib.import_module("dask.array").from_array(X, chunks=(1, 3, 6, 8))
        made = getattr(module, name)(array, *arguments, **{**base, **named})
        return [(each.chunks, each.compute()) for each in (made if isinstance(made, list) else [made])]

    return call


def streamed(**named: Any) -> Any:
    """A stream of a matrix: what it wrote, and in how many chunks."""
    written = named.pop("to", np.zeros((6, 8), np.float32))
    done = rs.stream(named.pop("source", MATRIX), written, **named)
    return written, done.chunks, done.skipped


def pyramid(*, array: Any = VOLUME, **named: Any) -> Any:
    """The files of a pyramid, and the work of its streams."""
    ome = importlib.import_module("restride.interop.ome")
    with tempfile.TemporaryDirectory() as folder:
        done = ome.pyramid(array, folder + "/a.zarr", **{"levels": 2, "axes": "tzyx", "mode": "linear", **named})
        files = sorted(Path(folder).rglob("*"))
        written = [(file.relative_to(folder).as_posix(), file.read_bytes()) for file in files if file.is_file()]
        return written, [each.plan for each in done.values()]


def uploaded(**named: Any) -> Any:
    """The tensor of an array that changes afterwards."""
    array = MATRIX.copy()
    tensor = rs.asarray(array, **named)
    array[:] = 0
    return tensor


def is_itself(**named: Any) -> bool:
    """Whether ``astype`` to the type that a tensor has returns the tensor."""
    tensor = rs.asarray(MATRIX)
    return tensor.astype("f32", **named) is tensor


def preprocessed(**named: Any) -> Any:
    """The batch of an image; its recipe takes as many images as ``depth`` says before the first result is taken."""
    image = named.pop("image", BYTES)
    recipe = rs.Preprocess(**{"sizes": (4, 4), **named})
    read = []

    def images() -> Iterator[Any]:
        for number in range(9):
            read.append(number)
            yield image

    first = next(recipe.stream(images()))
    return first, len(read)


def read_picture(**named: Any) -> Any:
    """The elements of a PNG with alpha."""
    with tempfile.TemporaryDirectory() as folder:
        rs.imwrite(folder + "/a.png", ALPHA)
        return rs.imread(folder + "/a.png", **named)


def resized_picture(**named: Any) -> Any:
    """A call of ``resize`` of ``compat.pil``."""
    return np.asarray(pil.resize(importlib.import_module("PIL.Image").fromarray(BYTES), (4, 3), **named))


def letterboxed(name: str, *arguments: Any) -> Callable[..., Any]:
    """A call of a method of ``Letterboxed`` for two boxes."""

    def call(**named: Any) -> Any:
        boxes = rs.Letterboxed.of([(0, 0, 4, 6), (0, 0, 8, 3)], (9, 9))
        return getattr(boxes, name)(*arguments, **{"index": 0, **named})

    return call


def labelled(**named: Any) -> Any:
    """A call of ``resample`` for xarray, of an array by names of dimensions."""
    xarray = importlib.import_module("xarray")
    module = importlib.import_module("restride.interop.xarray")
    values = np.where(X > 100, np.float32(np.nan), X) if named.pop("has_nan", False) else X
    array = xarray.DataArray(rs.asarray(X) if named.pop("on_device", False) else values, dims=("n", "c", "y", "x"))
    for name in ("sizes", "scales"):
        if isinstance(named.get(name), tuple):
            named[name] = dict(zip("yx", named[name], strict=True))
    return module.resample(array, **{"sizes": {"y": 3, "x": 5}, **named}).data


def in_framework(module: str) -> Callable[..., Any]:
    """A call of ``resample`` for torch or jax."""

    def call(**named: Any) -> Any:
        array = importlib.import_module("torch").from_numpy(X) if module == "torch" else X
        return np.asarray(importlib.import_module(f"restride.interop.{module}").resample(array, **{**SIZES, **named}))

    return call


def image_processor(**named: Any) -> Any:
    """A call of an image processor."""
    config = {"image_processor_type": "ViTImageProcessor", "size": {"height": 4, "width": 4}}
    result = importlib.import_module("restride.vision").processor(config)(BYTES, **named)["pixel_values"]
    return type(result), result


def images_in_parts(**named: Any) -> Any:
    """Two parts for an image processor."""
    config = {"image_processor_type": "ViTImageProcessor", "size": {"height": 4, "width": 4}}
    return importlib.import_module("restride.vision").processor(config).in_parts([[BYTES]] * 2, **named)["pixel_values"]


def accelerated(**named: Any) -> Any:
    """A call of a processor of transformers that restride accelerates."""
    from support.vision_judge import judged

    module = importlib.import_module("restride.compat.transformers")
    processor = judged("ViT", {"size": {"height": 4, "width": 4}})
    try:
        with patch.object(type(processor), "backend", "torchvision"):  # without that package
            return np.asarray(module.accelerate(processor, **named)(BYTES)["pixel_values"])
    except rs.UnsupportedError as error:
        return str(error)


def device_of(**named: Any) -> Any:
    """What an opened device says of itself, and of memory that it refuses."""
    with rs.Device(**named) as opened:
        try:
            rs.empty("f32[1000000]", opened)
        except rs.OutOfDeviceMemory:
            return "no room"
        return opened.info.name, type(opened.runtime).__name__


def video(**named: Any) -> Any:
    """The class ``Video`` checks the number of frames that it decodes ahead; how many they are shows in time alone."""
    av = importlib.import_module("av")
    with tempfile.TemporaryDirectory() as folder:
        with av.open(folder + "/grey.mkv", "w") as file:
            stream = file.add_stream("ffv1", width=64, height=48, pix_fmt="yuv420p")
            file.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((72, 64), 128, np.uint8), "yuv420p")))
            file.mux(stream.encode(None))
        return importlib.import_module("restride.interop.video").Video(folder + "/grey.mkv", **named)


def placed(x: rs.Tensor) -> Any:
    """Layout and device of a tensor whose elements are undefined."""
    return str(x.desc), id(x.device)


def on_xp(name: str, *arguments: Any) -> Callable[..., Any]:
    """A call of a function of ``xp``; arrays and lists of them are tensors, and elements of ``empty`` undefined."""

    def tensor(value: Any) -> Any:
        if isinstance(value, list):
            return rs.asarray(value) if np.ndim(value) == 1 else [*map(tensor, value)]
        return rs.asarray(value) if isinstance(value, np.ndarray) else value

    def call(**named: Any) -> Any:
        result = getattr(rs.xp, name)(*map(tensor, arguments), **named)
        return placed(result) if name.startswith("empty") else result

    return call


def window(**named: Any) -> Any:
    """A window of a large source that part of a result reads."""
    return rs.source_window((30, 40), **{**SIZES, "window": (slice(1, 2), slice(2, 4)), **named})


AS_RESAMPLE = "a dictionary of keywords is for rs.resample and rs.source_window, and this one changes weights alone"
SIZES: dict[str, Any] = {"sizes": (3, 5)}
PAD: dict[str, Any] = {"padded_sizes": (3, 5)}
BACK: dict[str, Any] = {"input_sizes": (6, 8)}
FLOAT_BOXES: dict[str, Any] = {"boxes": [(0.0, 0.0, 1.0, 1.5), (0.25, 0.0, 0.5, 0.5)]}
LETTERED = {"letterbox": "center"}

DOORS: dict[str, Door] = {
    # restride
    "resample": Door(
        on_array(rs.resample, X, **SIZES),
        {**WHERE, **REQUEST, **NUMBERS, **RESULT, **SUM}
        | {
            "window": ({}, (slice(1, 3), slice(0, 2))),
            "source_sizes": ({"window": (slice(0, 1), None), "array": X[:, :, :2]}, (2, 3, 6, 8)),
            "out": ({}, OUT),
        },
    ),
    "plan_resample": Door(
        planned(rs.plan_resample, X, **SIZES),
        {**WHERE, **REQUEST, **NUMBERS, **RESULT, **PLANNED}
        | {
            "window": ({}, (slice(1, 3), slice(0, 2))),
            "source_sizes": ({"window": (slice(0, 1), None), "array": X[:, :, :2]}, (2, 3, 6, 8)),
            "sum_scale": ({"adds": True, "dst": "f32[2,3,3,5]"}, 2.0),
        },
    ),
    "resample_backward": Door(
        on_array(rs.resample_backward, GRADIENT, **BACK),
        BACKWARD | {"out": ({}, OUT)},
    ),
    "plan_resample_backward": Door(
        planned(rs.plan_resample_backward, GRADIENT, **BACK),
        BACKWARD | PLANNED | {"input_sizes": ({}, (7, 9)), "dst": ({}, "f16[2,3,6,8]{0,1,2,3}")},
    ),
    "source_window": Door(
        window,
        WHERE
        | REQUEST
        | {
            "source_dtype": ({"mode": "area", "like": "opencv"}, "u8"),
            "sizes": ({}, (6, 6)),
            "axes": ({"axes": (0, 1)}, (1, 0)),
            "input_offsets": ({}, (3, 3)),
            "recompute_scale_factor": ({"sizes": None, "scales": (0.105, 0.105)}, True),
            "cubic_a": ({"mode": "cubic"}, Kept(-0.5, AS_RESAMPLE)),
            "exclude_outside": ({}, Kept(True, AS_RESAMPLE)),
            "extrapolation_value": (CROP, Kept(4.0, AS_RESAMPLE)),
        },
    ),
    "reorder": Door(on_array(rs.reorder, X), NUMBERS | RESULT | GROUPS | SUM | {"out": ({}, OUT)}),
    "plan_reorder": Door(
        planned(rs.plan_reorder, X),
        NUMBERS
        | RESULT
        | GROUPS
        | PLANNED
        | {"dst": ({}, "f16[2,3,6,8]"), "sum_scale": ({"adds": True, "dst": "f32[2,3,6,8]"}, 2.0)},
    ),
    "quantize": Door(on_array(rs.quantize, X, scale=1.5), QUANTIZE | {"out": ({}, OUT)}),
    "dequantize": Door(on_array(rs.dequantize, X.astype(np.int8), scale=1.5), DEQUANTIZE | {"out": ({}, OUT)}),
    "normalize": Door(on_array(rs.normalize, BYTES, mean=0.5, std=0.5), NORMALIZE | {"out": ({}, OUT)}),
    "lookup": Door(on_array(rs.lookup, BYTES, table=TABLES[0]), LOOKUP | {"out": ({}, OUT)}),
    "rearrange": Door(
        lambda **named: rs.rearrange(X, "a b c d -> a c d b", **named),
        {
            "src_scale": ({}, 0.5),
            "dst_scale": ({}, 0.5),
            "dtype": ({}, "f16"),
            "layout": ({}, "NHCW"),
            "out": ({}, OUT),
        },
    ),
    "crop_resize": Door(
        on_array(rs.crop_resize, X, boxes=[(0, 0, 4, 6), (1, 2, 9, 9)], sizes=(3, 3), images=[0, 1]),
        FILTERS
        | NUMBERS
        | {
            "letterbox": ({}, "center"),
            "images": ({}, [1, 1]),
            "saturate": ({"dtype": "s8", "src_scale": 9.0}, False),
            "units": (FLOAT_BOXES, "normalized"),
            "axes": ({}, (1, 2)),
            "flip": ({}, "both"),
            "fill": ({}, 7),
            "mean": ({}, 0.5),
            "std": ({}, 2.0),
            "layout": ({}, "NCHW->NHWC"),
            "dtype": ({}, "f16"),
            "out": ({}, OUT),
        },
    ),
    "resize": Door(
        lambda *, array=ALPHA, **named: rs.resize(array, **named),
        {
            "sizes": (SIZES, (4, 4)),
            "mode": (SIZES, "cubic"),
            "shorter": ({"shorter": 4}, 5),
            "longer": ({"longer": 4}, 5),
            "fit": ({"fit": (3, 9)}, (4, 9)),
            "cover": ({"cover": (3, 9)}, (3, 12)),
            "like": (SIZES, "opencv"),
            "axes": (SIZES, (0, 2)),
            "antialias": (SIZES, False),
            "linear_light": (SIZES, True),
            "premultiply": (SIZES, True),
        },
    ),
    "strided_slice": Door(
        lambda **named: rs.strided_slice(MATRIX, (0, 0), (5, 8), (2, 1), **named),
        {"output_sizes": ({}, (2, 8)), "out": ({}, OUT)},
    ),
    "yuv_to_rgb": Door(
        lambda **named: rs.yuv_to_rgb(BYTES[:, :, 0], **named),
        {
            "format": ({}, "nv21"),
            "matrix": ({}, "bt709"),
            "full_range": ({}, True),
            "like": ({}, "opencv"),
            "layout": ({}, "HWC->CHW"),
            "out": ({}, OUT),
        },
    ),
    "stream": Door(
        streamed,
        {
            "chain": ({}, rs.Chain().reorder(src_scale=2.0)),
            "chunks": ({}, (2, 2)),
            "memory": ({}, 150),
            "devices": ({"chain": rs.Chain().reorder(src_scale=2.0)}, With(lambda here: [here.other])),
            "journal": ({}, With(lambda here: here.folder)),
            "progress": ({}, True),
            "source_dtype": ({"source": BYTES, "to": FLOATS, "chain": rs.Chain().reorder(dtype="f32")}, "f8e5m2"),
        },
    ),
    "asarray": Door(
        uploaded,
        {"desc": ({}, "f32[6,8]{0,1}"), "device": ({}, OTHER), "copy": ({}, None)},
    ),
    "empty": Door(
        lambda **named: placed(rs.empty("f32[4]", **named)),
        {"device": ({}, OTHER), "shareable": ({}, Refused(5, "shareable must be True or False"))},
    ),
    "from_buffer": Door(lambda **named: rs.from_buffer(MATRIX, "f32[6,8]", **named), {"device": ({}, OTHER)}),
    "imread": Door(read_picture, {"mode": ({}, "rgb")}, "PIL"),
    "show": Door(lambda **named: str(rs.show("f32[2,3,4]", **named)), {"to": ({}, "ABC->CAB"), "plane": ({}, "ab")}),
    "dml_buffer_tensor_size": Door(
        lambda **named: rs.dml_buffer_tensor_size("f32", (2, 3), **named), {"strides": ({}, (8, 1))}
    ),
    # classes
    "Chain": Door(lambda **named: str(rs.Chain(**named)), {"operations": ({}, rs.Chain()[0].operations)}),
    "Chain.resample": Door(chained("resample", X, **SIZES), WHERE | REQUEST | NUMBERS | RESULT),
    "Chain.reorder": Door(chained("reorder", X), NUMBERS | RESULT | GROUPS),
    "Chain.quantize": Door(chained("quantize", X, scale=1.5), QUANTIZE),
    "Chain.dequantize": Door(chained("dequantize", X.astype(np.int8), scale=1.5), DEQUANTIZE),
    "Chain.normalize": Door(chained("normalize", BYTES, mean=0.5, std=0.5), NORMALIZE),
    "Chain.lookup": Door(chained("lookup", BYTES, table=TABLES[0]), LOOKUP),
    "WindowedChain.compute": Door(
        lambda **named: rs.Chain().reorder().of((6, 8), "f32").compute(MATRIX, (None, None), **named),
        {"device": ({}, OTHER)},
    ),
    "WindowedChain.run": Door(
        lambda **named: rs.Chain().reorder().of((6, 8), "f32").run(MATRIX, (range(6), range(8)), **named),
        {"device": ({}, OTHER)},
    ),
    "LazyArray": Door(
        lambda *, array=MATRIX, **named: rs.LazyArray(array, rs.Chain().reorder(src_scale=2.0), **named)[...],
        {"device": ({}, OTHER), "source_dtype": ({"array": BYTES.astype(np.uint16)}, "bf16")},
    ),
    "LaidOut": Door(
        lambda **named: rs.stream(MATRIX, rs.LaidOut(np.zeros(192, np.uint8), "f32[6,8]{0,1}", **named)).chunks,
        {"device": ({}, OTHER)},
    ),
    "Letterboxed.of": Door(
        lambda **named: repr(rs.Letterboxed.of([(0, 0, 4, 6)], (9, 9), **named)),
        {"letterbox": ({}, "top_left"), "flip": ({}, "horizontal")},
    ),
    "Letterboxed.points": Door(letterboxed("points", [(1, 2)]), {"index": ({}, 1)}),
    "Letterboxed.to_image": Door(
        letterboxed("to_image", [(-1, 0, 4, 6)]), {"index": ({}, 1), "order": ({}, "xy"), "clip": ({}, True)}
    ),
    "Letterboxed.to_output": Door(
        letterboxed("to_output", [(-1, 0, 4, 6)]), {"index": ({}, 1), "order": ({}, "xy"), "clip": ({}, True)}
    ),
    "Plan.__call__": Door(
        lambda **named: rs.plan_reorder("f32[6,8]", layout="AB->BA")(rs.asarray(MATRIX), **named), {"out": ({}, OUT)}
    ),
    "Preprocess": Door(
        preprocessed,
        {
            "shorter": ({}, 5),
            "rounding": ({"image": BYTES[:5, :7], "letterbox": "center"}, "floor"),
            "fill": (LETTERED, 9),
            "mode": ({}, "cubic"),
            "antialias": ({}, True),
            "like": ({}, "pillow"),
            "mean": ({}, 0.5),
            "std": ({}, 0.5),
            "input": ({}, "bgr"),
            "matrix": ({"image": BYTES[:, :, 0], "input": "nv12"}, "bt709"),
            "full_range": ({"image": BYTES[:, :, 0], "input": "nv12"}, True),
            "layout": ({}, "NHWC"),
            "dtype": ({}, "f16"),
            "depth": ({}, 4),
            "device": ({}, OTHER),
            "letterbox": ({}, "center"),
        },
    ),
    "Preprocess.__call__": Door(lambda **named: rs.Preprocess((4, 4))(BYTES, **named), {"out": ({}, OUT)}),
    "Preprocess.stream": Door(
        lambda **named: list(rs.Preprocess((4, 4)).stream([BYTES] * 3, **named)),
        {"batch": ({}, 2), "progress": ({}, True)},
    ),
    "Tensor.astype": Door(is_itself, {"copy": ({}, False)}),
    "Tensor.numpy": Door(lambda **named: rs.asarray(MATRIX).numpy(**named).flags.writeable, {"copy": ({}, False)}),
    "Tensor.to_device": Door(
        lambda **named: rs.asarray(MATRIX).to_device(rs.default_device(), **named),
        {"stream": ({}, Refused(5, "stream must be None"))},
    ),
    "TensorDesc": Door(
        lambda **named: rs.TensorDesc("f32", (2, 3), **named),
        {
            "strides": ({}, (1, 2)),
            "offset": ({}, 4),
            "element_size_in_bits": ({}, 32),
            "memory_space": ({}, 1),
        },
    ),
    "TensorDesc.xla": Door(
        lambda **named: rs.TensorDesc.xla("f32", (2, 3), **named),
        {
            "minor_to_major": ({}, (0, 1)),
            "tiles": ({}, [(2, 2)]),
            "padded_sizes": ({}, (3, 5)),
            "padding_value": (PAD, 1),
            "tail_padding_alignment_in_elements": ({}, 64),
            "element_size_in_bits": ({}, 32),
            "memory_space": ({}, 1),
        },
    ),
    "TensorDesc.from_tag": Door(lambda **named: rs.TensorDesc.from_tag("ba", (2, 3), **named), {"dtype": ({}, "f16")}),
    "TensorDesc.from_dml": Door(
        lambda **named: rs.TensorDesc.from_dml((2, 3), **named), {"strides": ({}, (8, 1)), "dtype": ({}, "f16")}
    ),
    "Device": Door(
        device_of,
        {
            "selector": ({}, Refused("no such device", "no such device")),
            "runtime": ({}, Refused("cuda", "runtime")),
            "timeout": ({}, Refused(0, "timeout must be positive")),
            "memory_limit": ({}, "1MiB"),
            "manager": ({}, Refused(5, "manager must be a kp.Manager")),
            **{
                name: ({}, Refused(5, "a VkDevice of yours needs all of"))
                for name in ("instance", "physical_device", "device", "queue", "queue_family")
            },
            "lock": ({}, Refused(5, "lock is of the queue of a VkDevice of yours")),
        },
    ),
    "Device.allocate": Door(
        lambda **named: rs.default_device().allocate(rs.TensorDesc("f32", (4,)), **named).nbytes,
        {"nbytes": ({}, 64), "shareable": ({}, Refused(5, "shareable must be True or False"))},
    ),
}

DOORS |= {
    # other libraries' functions
    "compat.torch.interpolate": Door(
        lambda **named: compat_torch.interpolate(X, **named),
        {
            "size": ({"size": (3, 5)}, (2, 2)),
            "scale_factor": ({"scale_factor": 0.5}, 0.25),
            "mode": ({"size": (3, 5)}, "bilinear"),
            "align_corners": ({"size": (3, 5), "mode": "bilinear"}, True),
            "recompute_scale_factor": ({"scale_factor": 0.55, "mode": "bilinear"}, True),
            "antialias": ({"size": (3, 5), "mode": "bilinear"}, True),
        },
    ),
    "compat.cv2.resize": Door(
        lambda **named: cv2.resize(BYTES, **{"dsize": (4, 3), **named}),
        {
            "dst": ({}, Refused(np.zeros((9, 9, 3), np.uint8), "dst must be a numpy array of sizes")),
            "fx": ({"dsize": None, "fx": 0.5, "fy": 0.5}, 0.25),
            "fy": ({"dsize": None, "fx": 0.5, "fy": 0.5}, 0.25),
            "interpolation": ({}, cv2.INTER_NEAREST),
        },
    ),
    "compat.pil.resize": Door(
        resized_picture,
        {
            "resample": ({}, pil.NEAREST),
            "box": ({}, (1, 1, 7, 5)),
            "reducing_gap": ({}, Refused(2.0, "reducing_gap 2.0 is not done here")),
        },
        "PIL",
    ),
    "compat.transformers.accelerate": Door(
        accelerated, {"bits": ({}, "pil"), "device": ({"bits": "pil"}, OTHER)}, "transformers"
    ),
    # other libraries' arrays
    "interop.dask.apply": Door(
        dask("apply", rs.Chain().reorder(dtype="f16")),
        {
            "chunks": ({}, (1, 1, 6, 8)),
            "memory": ({}, 1500),
            "source_dtype": ({}, Refused("bf16", "not the bits of bf16")),
        },
        "dask",
    ),
    "interop.dask.crop": Door(dask("crop", (0,)), {"chunks": ({}, (1, 2, 2))}, "dask"),
    "interop.dask.resample": Door(
        dask("resample", **SIZES), {**WHERE, **REQUEST, **NUMBERS, **RESULT, "chunks": ({}, (1, 1, 3, 5))}, "dask"
    ),
    "interop.dask.reorder": Door(
        dask("reorder"), {**NUMBERS, **RESULT, **GROUPS, "chunks": ({}, (1, 1, 6, 8))}, "dask"
    ),
    "interop.dask.pyramid": Door(
        dask("pyramid", levels=2, mode="linear"),
        REQUEST
        | NUMBERS
        | {
            "recompute_scale_factor": ({}, Refused(True, "has no effect with sizes alone")),
            "keep_aspect_ratio_policy": ({}, Kept("not_larger", "levels have the aspect of the source")),
            "layout": ({}, Refused("ABCD->ACDB", "permutes axes, which levels keep")),
            "levels": ({}, 3),
            "axes": ({}, (1, 2)),
            "factor": ({}, 0.7),
            "from_source": ({"levels": 3}, True),
            "chunks": ({}, (1, 1, 3, 4)),
            "dtype": ({}, "f16"),
        },
        "dask",
    ),
    "interop.dask.DevicePlugin": Door(
        lambda **named: vars(importlib.import_module("restride.interop.dask").DevicePlugin(**named)),
        {"selectors": ({}, (0, 1))},
        "dask",
    ),
    "interop.xarray.resample": Door(
        labelled,
        {**REQUEST, **NUMBERS}
        | {
            "sizes": ({}, (2, 2)),
            "scales": (BY_SCALES, (0.25, 0.25)),
            "layout": ({"on_device": True}, "NHWC"),
            "dtype": ({}, "f16"),
            "skipna": ({"mode": "area", "has_nan": True}, True),
        },
        "xarray",
    ),
    "interop.ome.pyramid": Door(
        pyramid,
        FILTERS
        | {
            "levels": ({}, 1),
            "axes": ({}, "czyx"),
            "factor": ({}, 0.7),
            "z_factor": ({}, 0.5),
            "from_source": ({"levels": 3}, True),
            "labels": ({}, {"cells": VOLUME}),
            "pixel_sizes": ({}, (1, 1, 2, 2)),
            "unit": ({}, "micrometer"),
            "time_unit": ({}, "second"),
            "chunks": ({}, (1, 1, 2, 2)),
            "shards": ({"chunks": (1, 1, 2, 2)}, (1, 1, 4, 4)),
            "memory": ({}, 3000),
            "devices": ({}, With(lambda here: [here.other])),
            "progress": ({}, True),
        },
        "zarr",
    ),
    "interop.torch.resample": Door(in_framework("torch"), WHERE | RULES | {"device": ({}, OTHER)}, "torch"),
    "interop.jax.resample": Door(in_framework("jax"), WHERE | RULES | {"device": ({}, OTHER)}, "jax"),
    "interop.video.Video": Door(video, {"ahead": ({}, Refused(0, "ahead must be 1 or more"))}, "av"),
    "vision.Processor.__call__": Door(
        image_processor, {"return_tensors": ({}, "restride"), "dtype": ({}, "f16"), "device": ({}, OTHER)}
    ),
    "vision.Processor.in_parts": Door(images_in_parts, {"dtype": ({}, "f16"), "device": ({}, OTHER)}),
    # the array API
    **{
        f"xp.{name}": Door(on_xp(name, *arguments), rows)
        for name, arguments, rows in (
            ("arange", (3,), {"stop": ({}, 9), "step": ({"stop": 9}, 2), **CREATED}),
            (
                "asarray",
                (MATRIX,),
                {"dtype": ({}, "f16"), "device": ({}, OTHER), "copy": ({}, Refused(5, "copy must"))},
            ),
            ("concat", ([X, X],), {"axis": ({}, 1)}),
            ("eye", (3,), {"n_cols": ({}, Refused(5, "n_cols")), "k": ({}, 1), **CREATED}),
            ("expand_dims", (X,), {"axis": ({}, 1)}),
            ("flip", (X,), {"axis": ({}, 1)}),
            ("from_dlpack", (MATRIX,), {"device": ({}, OTHER), "copy": ({}, Refused(5, "copy must be True or False"))}),
            ("full", ((2,), 3), CREATED),
            ("full_like", (X, 3), CREATED),
            ("linspace", (0, 1, 5), {**CREATED, "endpoint": ({}, False)}),
            ("meshgrid", ([1, 2], [3, 4, 5]), {"indexing": ({}, "ij")}),
            ("ones", ((2,),), CREATED),
            ("ones_like", (X,), CREATED),
            ("pad", (X, 1), {"mode": ({}, "edge"), "constant_values": ({}, 4)}),
            ("repeat", (X, 2), {"axis": ({}, 1)}),
            ("reshape", (X, (6, 48)), {"copy": ({}, Refused(5, "copy must be True or False"))}),
            ("roll", (X, 1), {"axis": ({}, 1)}),
            ("stack", ([X, X],), {"axis": ({}, 1)}),
            ("take", (MATRIX, [0]), {"axis": ({"axis": 0}, 1)}),
            ("take_along_axis", (MATRIX, [[0]]), {"axis": ({}, 0)}),
            ("unstack", (MATRIX,), {"axis": ({}, 1)}),
            ("zeros", ((2,),), CREATED),
            ("zeros_like", (X,), CREATED),
            (
                "astype",
                (MATRIX, "f32"),
                {"copy": ({}, Refused(5, "copy must be True or False")), "device": ({}, OTHER)},
            ),
            ("empty", ((2,),), CREATED),
            ("empty_like", (X,), CREATED),
        )
    },
}

BY_ONNX = "QuantizeLinear: used for per-axis and blocked quantization only; ONNX's examples give it with one scale"
BY_TYPE = "Cast of ONNX gives it for every type; integers alone need it"
ONE_NUMBER = np.float32([[[[2]]]])

NO_EFFECT: list[tuple[str, str, dict[str, Any], Refused | Kept]] = [
    ("normalize", "axis", {}, Refused(0, "axis 0 has no effect, because neither mean nor std is a sequence of 6")),
    ("normalize", "axis", {}, Refused(9, "axis 9 is outside [-3, 3)")),
    ("normalize", "axis", {"like": "torchvision"}, Refused(0, "axis 0 has no effect")),
    (
        "normalize",
        "axis",
        {"array": X, "mean": [0.5]},
        Kept(-3, "one number in a sequence is that of a single channel"),
    ),
    ("Chain.normalize", "axis", {}, Refused(1, "axis 1 has no effect")),
    ("quantize", "axis", {}, Refused(4, "axis 4 is outside [-4, 4)")),
    ("quantize", "axis", {}, Kept(0, BY_ONNX)),
    ("dequantize", "axis", {}, Refused(-5, "axis -5 is outside [-4, 4)")),
    ("dequantize", "axis", {}, Kept(2, BY_ONNX)),
    ("Chain.quantize", "axis", {}, Refused(4, "axis 4 is outside [-4, 4)")),
    ("quantize", "block_size", {}, Refused(2, "block_size 2 has no effect with one number for all of x")),
    ("quantize", "block_size", {}, Kept(0, "QuantizeLinear of ONNX: 0 is no blocks")),
    ("quantize", "saturate", {}, Kept(False, "QuantizeLinear of ONNX: it is for 8-bit floats")),
    ("reorder", "group_sizes", {"src_scale": 2.0}, Kept((1, 1, 1, 2), "one number for all is that of each group")),
    ("reorder", "group_sizes", {"src_scale": ONE_NUMBER}, Kept((2, 3, 6, 8), "one group is the whole axis")),
    ("reorder", "rounding", {}, Kept("truncate", BY_TYPE)),
    ("reorder", "rounding", {"dtype": "bf16"}, Kept("truncate", BY_TYPE)),
    ("reorder", "saturate", {"dtype": "bf16"}, Kept(False, BY_TYPE)),
    ("reorder", "sum_scale", {}, Refused(2.0, "sum_scale 2.0 reads the elements of out: give out")),
    ("resample", "cubic_a", {}, Refused(-0.5, "cubic_a -0.5 goes with mode 'cubic'")),
    ("resample", "nearest", {}, Refused("floor", "nearest 'floor' goes with mode 'nearest'")),
    ("resample", "roi", {}, Refused((0, 0, 1, 1), "roi goes with coordinates 'tf_crop_and_resize'")),
    ("resample", "extrapolation_value", {}, Refused(4, "goes with coordinates 'tf_crop_and_resize'")),
    ("resample", "antialias", {"mode": "nearest"}, Refused(True, "antialias True goes with mode 'linear' or 'cubic'")),
    ("resample", "antialias", {"sizes": (12, 16)}, Kept(True, "an axis that grows has nothing to average, as in ONNX")),
    ("resample", "exclude_outside", {}, Kept(True, "ONNX allows it in mode linear, where the edge repeats either way")),
    ("resample", "exclude_outside", {"mode": "area"}, Refused(True, "goes with mode 'linear' or 'cubic'")),
    ("resample", "recompute_scale_factor", {}, Refused(True, "recompute_scale_factor True has no effect with sizes")),
    ("resample_backward", "recompute_scale_factor", {}, Refused(True, "has no effect with sizes alone")),
    ("resample", "recompute_scale_factor", {**BY_SCALES, "mode": "area"}, Kept(True, "torch allows it in mode area")),
    ("crop_resize", "fill", {"boxes": [(0, 0, 3, 4), (1, 1, 6, 8)]}, Kept(7, "whether a box leaves the image is data")),
    ("crop_resize", "letterbox", FLOAT_BOXES, Refused("center", "letterbox goes with boxes of integers")),
    ("Preprocess", "fill", {}, Refused(7, "fill 7 has no effect without letterbox")),
    ("Preprocess", "rounding", {}, Refused("floor", "rounding 'floor' has no effect without letterbox")),
    ("Preprocess", "matrix", {}, Refused("bt709", "have no effect with input 'rgb'")),
    ("resize", "premultiply", {"array": BYTES, "sizes": (3, 5)}, Refused(True, "premultiply needs alpha")),
    ("TensorDesc.xla", "padding_value", {}, Refused(5, "padding_value 5 needs padded_sizes")),
    ("compat.cv2.resize", "fx", {}, Kept(0.3, "OpenCV ignores fx and fy where dsize is given")),
    (
        "interop.xarray.resample",
        "layout",
        {},
        Refused("NHWC", "has no effect, because the result is an array of numpy"),
    ),
    ("interop.ome.pyramid", "z_factor", {"array": VOLUME[0, 0], "axes": "yx"}, Refused(0.5, "axes 'yx' have no z")),
    ("interop.ome.pyramid", "time_unit", {"array": VOLUME[0], "axes": "zyx"}, Refused("second", "have no t")),
]
"""Values without effect beside the others: refused, or accepted for a reason."""

ELSEWHERE = {
    "import_memory": "needs a descriptor: tests/tensor/test_exported.py",
    "Tensor.export": "needs a driver that shares memory: tests/tensor/test_exported.py",
    "Plan": "functions such as plan_reorder make it",
    "Plan.run": "operations call it: tests/ops/test_perform.py",
    "Device.run": "plans call it: tests/ops/test_perform.py",
}
"""Functions that are shown elsewhere, or that callers do not call."""

MODULES = {
    "": ("restride", "numpy"),
    "xp.": ("restride.xp", "numpy"),
    "compat.torch.": ("restride.compat.torch", "numpy"),
    "compat.cv2.": ("restride.compat.cv2", "numpy"),
    "compat.pil.": ("restride.compat.pil", "numpy"),
    "compat.transformers.": ("restride.compat.transformers", "transformers"),
    "interop.dask.": ("restride.interop.dask", "dask"),
    "interop.xarray.": ("restride.interop.xarray", "xarray"),
    "interop.ome.": ("restride.interop.ome", "zarr"),
    "interop.torch.": ("restride.interop.torch", "torch"),
    "interop.jax.": ("restride.interop.jax", "jax"),
    "interop.video.": ("restride.interop.video", "av"),
    "vision.": ("restride.vision", "numpy"),
}
"""The public modules by the beginning of the names in ``DOORS``, and the package that each needs. einops calls the
methods of its backend itself."""


def keywords(function: Callable[..., Any]) -> list[str]:
    """The names of arguments with a default."""
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.default is not each.empty]


def functions_of(module: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions of a module, and methods of its public classes, by name; a class is its constructor."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    for name in getattr(module, "__all__", [name for name in own if not name.startswith("_")]):
        value = getattr(module, name)
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value) and not issubclass(value, BaseException | int | tuple):
            for method, of_class in vars(value).items():
                function = getattr(of_class, "__func__", of_class)
                if inspect.isfunction(function) and (method in ("__init__", "__call__") or not method.startswith("_")):
                    yield (name if method == "__init__" else f"{name}.{method}"), function


@pytest.mark.parametrize("beginning", MODULES)
def test_every_keyword_has_a_row(beginning: str) -> None:
    name, needs = MODULES[beginning]
    judge(needs)
    listed = {beginning + each: keywords(function) for each, function in functions_of(importlib.import_module(name))}
    missing = [
        f"{each}({keyword}=)"
        for each, names in listed.items()
        if each not in ELSEWHERE
        for keyword in names
        if each not in DOORS or keyword not in DOORS[each].rows
    ]
    assert not missing, f"give each a row in DOORS that shows its effect: {', '.join(missing)}"


@pytest.mark.parametrize("beginning", MODULES)
def test_a_truth_value_is_neither_a_number_nor_a_text(beginning: str) -> None:
    name, needs = MODULES[beginning]
    judge(needs)
    for each, function in functions_of(importlib.import_module(name)):
        for keyword, parameter in inspect.signature(function).parameters.items():
            if str(parameter.annotation).startswith("bool") and (door := DOORS.get(beginning + each)):
                others, _ = door.rows[keyword]
                with pytest.raises((rs.DescriptorError, TypeError), match=keyword):
                    door.call(**{**others, keyword: 5})


@pytest.fixture(scope="module")
def other() -> Iterator[rs.Device]:
    """A second device, whose counters show that it worked."""
    with open_device("vulkan") as opened:
        yield opened


ROWS = [(name, keyword, *row) for name, door in DOORS.items() for keyword, row in door.rows.items()] + NO_EFFECT


@pytest.mark.parametrize(("name", "keyword", "others", "value"), ROWS, ids=[f"{row[0]}-{row[1]}" for row in ROWS])
def test_a_keyword_has_an_effect(
    name: str,
    keyword: str,
    others: dict[str, Any],
    value: Any,
    other: rs.Device,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    door = DOORS[name]
    judge(door.needs)
    monkeypatch.setattr(progress, "_LINE_EVERY", 0.0)
    here = Here(other, tmp_path / "new")
    if isinstance(value, Refused):
        door.call(**others)
        with pytest.raises((rs.RestrideError, ValueError, TypeError), match=re.escape(value.message)):
            door.call(**{**others, keyword: value.value})
    elif isinstance(value, Kept):
        assert value.reason
        assert seen(here, door, others) == seen(here, door, {**others, keyword: value.value})
    elif value is OUT:
        result = door.call(**others)
        out = rs.empty(result.desc)
        assert door.call(**others, out=out) is out
        np.testing.assert_array_equal(out.numpy(), result.numpy())
    else:
        value = value.of(here) if isinstance(value, With) else value
        assert seen(here, door, others) != seen(here, door, {**others, keyword: value})


def seen(here: Here, door: Door, named: dict[str, Any]) -> Any:
    """What a call shows: its result, what it prints, whether the other device worked, and whether it wrote a file."""
    before, told = here.other.counters(), io.StringIO()
    with redirect_stderr(told):
        result = plain(door.call(**named))
    return result, told.getvalue(), here.other.counters() != before, here.folder.exists()


def plain(value: Any) -> Any:
    """A value that compares by type, layout and bytes."""
    if isinstance(value, rs.Tensor):
        return str(value.desc), id(value.device), value.numpy().tobytes()
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return repr(value)
