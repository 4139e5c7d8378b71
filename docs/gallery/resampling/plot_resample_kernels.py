"""Kernels: the weight of a neighbour
==================================

One element of 1 among zeros, enlarged 64 times, is the kernel of the mode. A cubic kernel falls below zero, so edges
become sharper and overshoot.
"""

import numpy as np
from matplotlib import pyplot as plt

import restride as rs

one = np.zeros(9, np.float32)
one[4] = 1
x = (np.arange(9 * 64) + 0.5) / 64 - 4.5
figure, axes = plt.subplots(1, 2, sharey=True, layout="constrained")
for mode in ("nearest", "linear", "area"):
    axes[0].plot(x, rs.resample(one, (9 * 64,), mode=mode).numpy(), "--" if mode == "area" else "-", label=mode)
for cubic_a in (-0.75, -0.5):
    axes[1].plot(x, rs.resample(one, (9 * 64,), mode="cubic", cubic_a=cubic_a).numpy(), label=f"cubic, a = {cubic_a}")
lanczos = rs.resample(one[None], (1, 9 * 64), axes=(0, 1), mode="lanczos", like="pillow")
axes[1].plot(x, lanczos.numpy()[0], label="lanczos of Pillow")
for place in axes:
    place.set(xlim=(-3.2, 3.2), xlabel="distance in source elements")
    place.legend(loc="upper right")
axes[0].set_ylabel("weight")
plt.savefig("resample_kernels.png")
