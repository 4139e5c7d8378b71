"""A scale for each block
======================

Values of very different sizes in f8e4m3fn, with one scale, and with a power of two for each block of 32, as in the MX
formats: without blocks, the small ones become zero.
"""

import numpy as np
from matplotlib import pyplot as plt

import restride as rs

x = (np.random.default_rng(0).standard_normal(512) * np.repeat(2.0 ** np.arange(-24, 8, 2), 32)).astype(np.float32)
most = np.abs(x.reshape(16, 32)).max(axis=1)
scales = {
    "one scale": np.float32(x.max() / 448),
    "a scale for 32": np.exp2(np.ceil(np.log2(most / 448))).astype(np.float32),
}
figure, axes = plt.subplots(layout="constrained")
for title, scale in scales.items():
    blocks = {"axis": 0, "block_size": 32} if scale.ndim else {}
    small = rs.quantize(x, scale, dtype="f8e4m3fn", **blocks)
    error = np.abs(rs.dequantize(small, scale, **blocks).numpy() / x - 1)
    axes.semilogy(np.maximum(error, 1e-4), ".", label=title)
axes.set(xlabel="element", ylabel="relative error")
axes.legend()
plt.savefig("type_blocks.png")
