"""Floating-point formats
======================

How far a number is from the nearest one of a type, relative to the number. Each more bit of mantissa halves it; at the
ends of a type's range it grows.
"""

import numpy as np
from matplotlib import pyplot as plt

import restride as rs

x = np.geomspace(2**-30, 2**20, 20_000).astype(np.float32)
figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
for dtype in ("f8e5m2", "f8e4m3fn", "bf16", "f16"):
    back = rs.reorder(rs.reorder(x, dtype=dtype, saturate=False), dtype="f32").numpy()
    error = np.abs(back / x - 1)
    most = np.nanmax(np.where(np.isfinite(error), error, np.nan).reshape(200, 100), axis=1, initial=0)
    axes.loglog(x.reshape(200, 100)[:, 50], np.where(most > 0, most, np.nan), label=dtype)
axes.set(xlabel="number", ylabel="largest relative error", ylim=(1e-4, 1.5))
axes.legend(ncols=2, loc="upper right")
plt.savefig("type_formats.png")
