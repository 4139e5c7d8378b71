"""Rounding and saturation
=======================

f32 becomes s8 by each rounding, around zero. Beyond the range, ``saturate=True`` gives the nearest end.
"""

import numpy as np
from matplotlib import pyplot as plt

import restride as rs

x = np.linspace(-2.6, 2.6, 2001, dtype=np.float32)
figure, axes = plt.subplots(1, 2, layout="constrained")
for shift, rounding in enumerate(("nearest_even", "half_away", "truncate")):
    rounded = rs.reorder(x, dtype="s8", rounding=rounding).numpy()
    axes[0].plot(x, rounded + 0.06 * (shift - 1), ".", markersize=2, label=rounding)
axes[0].legend(markerscale=5)
axes[0].set(xlabel="value", ylabel="s8")
wide = np.linspace(-300, 300, 2001, dtype=np.float32)
axes[1].plot(wide, rs.reorder(wide, dtype="s8").numpy(), label="s8")
axes[1].plot(wide, rs.reorder(wide, dtype="u8").numpy(), label="u8")
axes[1].legend()
axes[1].set(xlabel="value", ylabel="saturated")
plt.savefig("type_rounding.png")
