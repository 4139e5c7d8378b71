"""Calls that a type checker accepts, and calls that it must refuse: tests/test_typing.py runs mypy on this file.

A line that ends in ``# refused`` is an error, every other one is none. Nothing here is run.
"""

import ml_dtypes
import numpy as np

import restride as rs

x = rs.empty("f32[1,3,8,8]")
array = np.zeros((1, 3, 8, 8), np.float32)

rs.resample(x, (4, 4), mode="nearest")
rs.resample(x, (4, 4), mode="lanczos", like="pillow")
rs.resample(x, (4, 4), mode="INTER_AREA", like="opencv")
rs.resample(array, (4, 4), coordinates="align_corners", antialias=True)
rs.resample(x, (4, 4), mode="blinear")  # refused
rs.resample(x, (4, 4), coordinates="half")  # refused
rs.resample(x, (4, 4), nearest="up")  # refused
rs.resample(x, (4, 4), like="pilow")  # refused
rs.resample(x, (4, 4), keep_aspect_ratio_policy="keep")  # refused
rs.resample(x, (4, 4), rounding="up")  # refused
rs.resample(x, (4, 4), layout=3)  # refused
rs.resample(x, (4, 4), dtype="f23")  # refused
rs.resample_backward(x, (4, 4), mode="bicubic_")  # refused

rs.reorder(x, "NHWC")
rs.reorder(x, rs.TensorDesc("f32", (1, 3, 8, 8)), dtype=np.float32)
rs.reorder(x, dtype="float16")
rs.reorder(x, dtype=np.dtype("uint8"))
rs.reorder(x, dtype=ml_dtypes.bfloat16)
rs.reorder(x, dtype="bf16", rounding="truncate")
rs.reorder(x, dtype="f23")  # refused
rs.reorder(x, layout=(1, 0))  # refused
rs.reorder(x, rounding="nearest")  # refused

rs.crop_resize(x, [(0, 0, 4, 4)], (2, 2), mode="cubic")
rs.crop_resize(x, [(0, 0, 4, 4)], (2, 2), mode="cubical")  # refused
rs.crop_resize(x, [(0, 0, 4, 4)], (2, 2), dtype="f23")  # refused

rs.Device(runtime="kompute")
rs.Device(runtime="cuda")  # refused
rs.TensorDesc("f32", (2, 3))
rs.TensorDesc("f23", (2, 3))  # refused
rs.TensorDesc.xla("f31", (2, 3))  # refused
rs.TensorDesc.from_tag("nchw", (1, 3, 8, 8), dtype="i9")  # refused
rs.quantize(x, 0.5, dtype="u9")  # refused
