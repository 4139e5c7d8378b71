"""Patches
=======

A pattern splits a photograph into patches of 64 x 64 and puts them into a grid of another order, with one dispatch.
"""

from matplotlib import pyplot as plt
from skimage import data

import restride as rs

face = data.astronaut()
patches = rs.rearrange(face, "(h p) (w q) c -> (w h) p q c", p=64, q=64)
turned = rs.rearrange(face, "(h p) (w q) c -> (w p) (h q) c", p=64, q=64)
flipped = rs.rearrange(rs.asarray(patches.numpy()[::-1]), "(w h) p q c -> (h p) (w q) c", h=8)
shown = {
    "512 x 512 x 3": face,
    "(w p) (h q) c": turned.numpy(),
    "patches in reverse order": flipped.numpy(),
    f"patch 20 of {patches.sizes[0]}": patches[20].numpy(),
}
figure, axes = plt.subplots(1, len(shown), figsize=(8, 2.4), layout="constrained")
for place, (title, image) in zip(axes, shown.items(), strict=True):
    place.imshow(image)
    place.set_title(title)
    place.set_axis_off()
plt.savefig("patches.png")
