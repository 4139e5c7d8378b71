"""Coordinate rules: where an output reads
=======================================

Four elements with the values 0, 1, 2 and 3 become seven by a scale of 1.8: the value of an output is where it has read,
held inside the source. "pytorch_half_pixel" differs from "half_pixel" only for a single output; "align_corners" keeps
both ends where sizes are asked for.
"""

import numpy as np
from matplotlib import pyplot as plt

import restride as rs

rules = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")
figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
for row, rule in enumerate(rules):
    read = rs.resample(np.arange(4, dtype=np.float32), scales=(1.8,), mode="linear", coordinates=rule).numpy()
    axes.plot(range(4), [row] * 4, "s", color="gray", markersize=14, fillstyle="none")
    axes.plot(read, [row] * 7, "o", color=f"C{row}")
    for output in range(7):
        axes.annotate(f"{output}", (read[output], row - 0.33), ha="center", fontsize=8)
axes.set(yticks=range(len(rules)), yticklabels=rules, xticks=range(4), xlabel="source element", ylim=(4.6, -0.7))
axes.tick_params(length=0)
plt.savefig("resample_coordinates.png")
