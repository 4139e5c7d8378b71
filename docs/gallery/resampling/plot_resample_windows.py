"""Chunks without seams
====================

A part of a photograph made five times larger in four chunks. Left, each chunk alone: at its edges it lacks its
neighbours. Right, with ``window``: ``rs.source_window`` says which part of the source a chunk reads, and the bits are
those of one call. Differences to that call, 16 times larger.
"""

from itertools import product

import numpy as np
from matplotlib import pyplot as plt
from skimage import data

import restride as rs

cup = data.coffee()[90:150, 240:330]
how = {"sizes": (300, 450), "axes": (0, 1), "mode": "cubic"}
whole = rs.resample(cup, **how).numpy().astype(int)
naive, ours = np.empty_like(whole), np.empty_like(whole)
for y, x in product((0, 150), (0, 225)):
    chunk = (slice(y, y + 150), slice(x, x + 225))
    alone = cup[y // 5 :, x // 5 :][:30, :45]
    naive[chunk] = rs.resample(alone, **how | {"sizes": (150, 225)}).numpy()
    part = rs.source_window(cup.shape, window=chunk, **how)
    ours[chunk] = rs.resample(cup[part], window=chunk, source_sizes=cup.shape, **how).numpy()
figure, axes = plt.subplots(1, 2, figsize=(8, 3.1), layout="constrained")
for place, title, chunks in zip(axes, ("each chunk alone", "window"), (naive, ours), strict=True):
    place.imshow(np.clip(128 + 16 * (chunks - whole), 0, 255))
    place.set_title(f"{title}: at most {np.abs(chunks - whole).max()} of 255 away")
    place.set_axis_off()
plt.savefig("resample_windows.png")
