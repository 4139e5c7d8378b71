"""Five rules of nearest
=====================

Which of 6 source elements each of 3 and each of 9 outputs takes. "half_up" and the two that prefer a side differ only
where an output reads half-way between two elements, as all 3 outputs on the left do.
"""

import numpy as np
from matplotlib import pyplot as plt

import restride as rs

rules = ("half_up", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
source = np.arange(6, dtype=np.float32)
figure, axes = plt.subplots(1, 2, figsize=(8, 2.6), width_ratios=(3, 9), layout="constrained")
for place, size in zip(axes, (3, 9), strict=True):
    taken = np.stack([rs.resample(source, (size,), mode="nearest", nearest=rule).numpy() for rule in rules])
    place.imshow(taken, cmap="Set3", vmin=0, vmax=11)
    for (row, column), index in np.ndenumerate(taken.astype(int)):
        place.text(column, row, index, ha="center", va="center", weight="bold")
    place.set(xticks=range(size), yticks=range(5), yticklabels=rules, title=f"6 elements become {size}")
    place.tick_params(length=0)
axes[1].set_yticklabels([])
plt.savefig("resample_nearest.png")
