"""Calls that a type checker accepts, and calls that it must refuse: tests/house/test_typing.py runs mypy on this file.

A line that ends in ``# refused`` must be an error, and no other line may be one. Nothing here is run.
"""

from fractions import Fraction

import ml_dtypes
import numpy as np
from PIL.Image import Image

import restride as rs

x = rs.empty("f32[1,3,8,8]")
array = np.zeros((1, 3, 8, 8), np.float32)

rs.resample(x, (4, 4), mode="nearest")
rs.resample(x, (4, 4), mode="lanczos", like="pillow")
rs.resample(x, (4, 4), mode="INTER_AREA", like="opencv")
rs.resample(array, (4, 4), coordinates="align_corners", antialias=True)
rs.resample(x, scales=(2, np.float32(0.5)))
rs.resample(x, scales=(Fraction(1, 2), np.int64(2)))
rs.resample(x, scales=("2", "2"))  # refused
rs.resample(x, scales=(np.str_("2"), 2))  # refused
rs.resample(x, scales=(np.complex64(2), 2))  # refused
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

rs.crop_resize(x, [(0, 0, 4, 4)], (2, 2), units="normal")  # refused
rs.crop_resize(x, [(0, 0, 4, 4)], (2, 2), unit="pixels")  # refused
rs.Preprocess((4, 4), input="bgr", layout="NHWC")
rs.Preprocess((4, 4), input="gbr")  # refused
rs.Preprocess((4, 4), layout="CHWN")  # refused
rs.Preprocess.preset("imagenet", matrix="bt709")
rs.Preprocess.preset("imagnet")  # refused
rs.Preprocess.preset("imagenet", matrix="bt2020")  # refused
rs.yuv_to_rgb(array, "nv21", like="opencv")
rs.yuv_to_rgb(array, "nv16")  # refused
rs.imread("photo.png", mode="rgb")
rs.imread("photo.png", mode="RGB")  # refused
resized: rs.Tensor = rs.resize(array, shorter=256)
rs.resize(array, fit=256)  # refused
rs.resize(array, 256)  # refused
image: Image = rs.resize(Image(), (4, 4))
rs.Device(memory_limit="1GB")

rs.Device(runtime="kompute")
rs.Device(runtime="cuda")  # refused
rs.TensorDesc("f32", (2, 3))
rs.TensorDesc("f23", (2, 3))  # refused
rs.TensorDesc.xla("f31", (2, 3))  # refused
rs.TensorDesc.from_tag("nchw", (1, 3, 8, 8), dtype="i9")  # refused
rs.quantize(x, 0.5, dtype="u9")  # refused

# Functions that pass arguments on know them too, by name and by type.

rs.resample(x, (4, 4), mod="linear")  # refused
rs.resample(x, (4, 4), antialiased=True)  # refused
rs.resample(x, (4, 4), antialias="yes")  # refused
rs.resample(x, (4, 4), src_scales=2)  # refused
rs.resample(x, (4, 4), post_ops=3)  # refused
rs.resample(x, (4, 4), cubic_a="-0.5")  # refused
rs.resample_backward(x, (4, 4), antialise=True)  # refused
rs.resample_backward(x, (4, 4), src_scale=2)  # refused
rs.source_window((8, 8), (4, 4), window=[None, None], layout="NHWC")  # refused
rs.source_window((8, 8), (4, 4), window=[None, None], coordinate="half_pixel")  # refused

rs.plan_reorder("u8[2,4,3]", None, "HWC->CHW", dtype="f32", src_scale=2.0, post_ops=[("relu",)])
rs.plan_reorder("u8[2,4,3]", None, "HWC->CHW", "f32", 2.0, device=None)
rs.plan_reorder("u8[2,4,3]", sum_scales=1)  # refused
rs.plan_reorder("u8[2,4,3]", rounding="up")  # refused
rs.plan_reorder("u8[2,4,3]", out=x)  # refused
rs.plan_resample("u8[8,8]", None, (4, 4), mode="linear", antialias=True, dtype="f32", window=[None, None])
rs.plan_resample("u8[8,8]", None, (4, 4), mod="linear")  # refused
rs.plan_resample("u8[8,8]", None, (4, 4), mode="linar")  # refused
rs.plan_resample("u8[8,8]", None, (4, 4), dtyp="f32")  # refused
rs.plan_resample("u8[8,8]", None, (4, 4), dst_scale=2, saturate="no")  # refused
rs.plan_resample_backward("f32[4,4]", None, (8, 8), like="torch")
rs.plan_resample_backward("f32[4,4]", None, (8, 8), like="tourch")  # refused
rs.plan_resample_backward("f32[4,4]", None, (8, 8), dst_scale=2)  # refused

chain = rs.Chain().resample((2, 2), mode="area", dtype="f32", dst_scale=255).reorder("AB->BA", "f16", 2)
chain.quantize(0.5, 3, axis=0).dequantize(0.5).normalize(0.5, 0.25, layout="AB->BA")
chain.resample((2, 2), mod="linear")  # refused
chain.resample((2, 2), like="torch", antialias=1.5)  # refused
chain.resample((2, 2), sum_scale=1)  # refused
chain.resample((2, 2), window=[None, None])  # refused
chain.reorder(dtype="f33")  # refused
chain.reorder(src_zero=3)  # refused
chain.reorder("AB->BA", sum_scale=1)  # refused
chain.quantize(0.5, dtypes="u8")  # refused
chain.quantize(0.5, out=x)  # refused
chain.dequantize(0.5, saturate=True)  # refused
chain.normalize(0.5, 0.5, axes=1)  # refused
rs.LazyArray(array, chain, devices=None)  # refused
rs.LazyArray(array, rs.Chain().resample((2, 2), coordinates="centre"))  # refused

rs.dask.resample(array, (2, 2), mode="area", chunks=4)
rs.dask.resample(array, (2, 2), mod="area")  # refused
rs.dask.resample(array, (2, 2), nearest="round")  # refused
rs.dask.reorder(array, "AB->BA", dst_scal=2)  # refused
rs.dask.pyramid(array, 3, mode="areas")  # refused
rs.dask.pyramid(array, 3, antialiase=True)  # refused
rs.ome.pyramid(array, "image.zarr", 3, mode="nearest", like="opencv")
rs.ome.pyramid(array, "image.zarr", 3, roi=(0, 1))  # refused
rs.xarray.resample(array, {"y": 2}, mod="area")  # refused
rs.xarray.resample(array, {"y": 2}, axes=(0,))  # refused
rs.xarray.resample(array, {"y": 2}, mode="area", dtype="u9")  # refused

rs.Preprocess((8, 8), mean=0.5, std=0.25, layout="NHWC")
rs.Preprocess((8, 8), means=0.5)  # refused
rs.Preprocess((8, 8), like="pill")  # refused
rs.Preprocess((8, 8), letterbox="middle")  # refused
rs.Preprocess.preset("imagenet", sizes=(8, 8), dtype="f16")
rs.Preprocess.preset("imagenet", size=(8, 8))  # refused
rs.Preprocess.preset("yolo", full_rang=True)  # refused
rs.crop_resize(x, [(0, 0, 4, 4)], (2, 2), flips="both")  # refused
rs.crop_resize(x, [(0, 0, 4, 4)], (2, 2), saturate="no")  # refused

# What arrays, tensors, streams and processors take.

x[0, ..., None, ::-2] = [1, 2]
x[[0, 1]]  # refused
x["0"]  # refused
x[0] = object()  # refused
rs.xp.asarray([[1, 2], [3, 4]], dtype="f16")
rs.xp.asarray(object())  # refused
rs.xp.full((2,), np.float32(0.5), dtype=np.uint8)
rs.xp.full((2,), "0.5")  # refused
rs.xp.zeros((2,), dtype="f23")  # refused
rs.xp.isdtype("u8", ("integral", "bool"))
rs.xp.isdtype("u8", "integer")  # refused
rs.xp.arange("3")  # refused
rs.xp.from_dlpack([1, 2])  # refused
rs.to_rgb(object())  # refused
rs.imread(3)  # refused
rs.stream(np.memmap("x", np.uint8), rs.LaidOut(array, "u8[2]"), chain[..., 0])
rs.stream(array, rs.LazyArray(array, chain))  # refused
rs.stream("x.npy", array)  # refused
rs.LazyArray([1, 2], chain)  # refused
chain[[0, 1]]  # refused
chain.resample(scales=(0.5, np.float32(0.5), Fraction(1, 3)))
chain.resample(scales=("0.5",))  # refused
chain.quantize(object())  # refused
rs.dask.crop(array, (0, slice(2)), chunks=(4, (2, 2), "auto"))
rs.dask.crop(array, [0], chunks=4.5)  # refused
rs.vision.processor({"size": 224})([Image(), array, b"GIF8"], "pt")
rs.vision.processor({"size": 224})(object())  # refused
