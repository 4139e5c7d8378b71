"""The bytes that a vision model was trained with
==============================================

A photograph resized to 224 x 224, bicubic. Left: by Pillow, as ``rs.vision`` and transformers' PIL backend do it.
Middle: how far torch's antialiased bicubic in f32 is from it, 32 times larger; torchvision resizes so on a GPU, and
transformers takes torchvision where it is installed. Right: how many elements differ by how much.
"""

import numpy as np
from matplotlib import pyplot as plt
from skimage import data

import restride as rs

face = data.astronaut()
small = rs.resample(face, (224, 224), axes=(0, 1), mode="bicubic", like="pillow").numpy().astype(int)
floats = rs.resample(face.astype(np.float32), (224, 224), axes=(0, 1), mode="bicubic", like="torch", antialias=True)
difference = np.clip(np.rint(floats.numpy()), 0, 255).astype(int) - small
steps, counts = np.unique(abs(difference), return_counts=True)
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
axes[0].imshow(small)
axes[0].set_title("Pillow")
axes[1].imshow(np.clip(128 + 32 * difference, 0, 255))
axes[1].set_title(f"torch - Pillow, 32 times: at most {steps.max()}")
axes[2].bar(steps[1:], counts[1:], log=True)
axes[2].set_title(f"{(difference != 0).mean():.1%} of elements differ")
axes[2].set_xlabel("steps of a byte")
for place in axes[:2]:
    place.set_axis_off()
plt.savefig("vision_bytes.png")
