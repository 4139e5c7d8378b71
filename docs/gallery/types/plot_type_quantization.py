"""The error of a quantization
===========================

A photograph in f32 from 0 to 1 becomes u8 with one scale and 16 or 64 levels, and comes back. Errors are at most half a
step, but where the values do not fit the range.
"""

import numpy as np
from matplotlib import pyplot as plt
from skimage import data

import restride as rs

gray = rs.reorder(data.camera(), dtype="f32", dst_scale=255).numpy()
figure, axes = plt.subplots(1, 3, layout="constrained")
for place, (scale, low, high) in zip(axes, ((1 / 15, 0, 15), (1 / 30, 0, 15), (1 / 63, 0, 63)), strict=True):
    levels = rs.reorder(gray, dtype="u8", dst_scale=scale, post_ops=[("clip", low * scale, high * scale)])
    error = rs.reorder(levels, dtype="f32", src_scale=scale).numpy() - gray
    place.imshow(error, cmap="RdBu_r", vmin=-0.1, vmax=0.1)
    place.set_title(f"{high + 1} levels, scale {scale:.4f}:\nat most {np.abs(error).max():.4f} away")
    place.set_axis_off()
plt.savefig("type_quantization.png")
