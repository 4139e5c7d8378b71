"""A pyramid of a photograph
=========================

Each level is half of the one before, "area", side by side in one image: ``out=`` writes a level where it belongs.
"""

from matplotlib import pyplot as plt
from skimage import data

import restride as rs

level = rs.asarray(data.coffee())
wide = rs.asarray(rs.xp.full((400, 900, 3), 127, dtype="u8"))
wide[:, :600] = level
top = 0
while min(level.sizes[:2]) > 20:
    half = tuple(size // 2 for size in level.sizes[:2])
    there = wide[top : top + half[0], 600 : 600 + half[1]]
    level = rs.resample(level, half, axes=(0, 1), mode="area", out=there)
    top += half[0]
plt.figure(figsize=(8, 4), layout="constrained")
plt.imshow(wide.numpy())
plt.title("600 x 400, 300 x 200, 150 x 100, ...")
plt.axis("off")
plt.savefig("resample_pyramid.png")
