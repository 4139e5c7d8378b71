"""The same resize, by three libraries
===================================

A photograph of 512 x 512 becomes 128 x 128, "bilinear" of torch, Pillow and OpenCV. Below: how far each is from Pillow,
16 times larger. Pillow reads every pixel; torch and OpenCV read two an axis, and round differently.
"""

import numpy as np
from matplotlib import pyplot as plt
from skimage import data

import restride as rs

face = data.astronaut()
small = {
    like: rs.resample(face, (128, 128), axes=(0, 1), mode=mode, like=like).numpy().astype(int)
    for like, mode in (("pillow", "bilinear"), ("torch", "bilinear"), ("opencv", "linear"))
}
differences = {"torch - pillow": ("torch", "pillow"), "opencv - pillow": ("opencv", "pillow")}
differences["opencv - torch"] = ("opencv", "torch")
figure, axes = plt.subplots(2, 3, figsize=(8, 5.6), layout="constrained")
for place, (like, image) in zip(axes[0], small.items(), strict=True):
    place.imshow(image)
    place.set_title(like)
for place, (title, (a, b)) in zip(axes[1], differences.items(), strict=True):
    place.imshow(np.clip(128 + 16 * (small[a] - small[b]), 0, 255))
    place.set_title(f"{title}, 16 times: at most {np.abs(small[a] - small[b]).max()}")
for place in axes.flat:
    place.set_axis_off()
plt.savefig("resample_like.png")
