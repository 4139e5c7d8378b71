"""The gradient of a resize
========================

How much each source pixel counts for the sum of the result: the gradient of 24 x 24 pixels that become 10 x 10. Linear
without antialias does not read some of them at all.
"""

import numpy as np
from matplotlib import pyplot as plt

import restride as rs

ones = np.ones((10, 10), np.float32)
choices = {"linear": {}, "linear, antialias": {"antialias": True}, "cubic": {"mode": "cubic"}}
figure, axes = plt.subplots(1, 3, layout="constrained")
for place, (title, options) in zip(axes, choices.items(), strict=True):
    gradient = rs.resample_backward(ones, (24, 24), **options).numpy()
    drawn = place.imshow(gradient, cmap="RdBu_r", vmin=-0.8, vmax=0.8)
    place.set_title(f"{title}: sum {gradient.sum():.1f}")
    place.set_axis_off()
figure.colorbar(drawn, ax=axes, shrink=0.8)
plt.savefig("resample_gradient.png")
