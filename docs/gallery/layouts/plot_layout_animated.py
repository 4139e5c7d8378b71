"""A reorder, animated
===================

Rows of 6 elements become tiles of 2 x 3: each element goes from its offset in the source to its offset in the result.
"""

from itertools import product

import numpy as np
from matplotlib import pyplot as plt
from PIL import Image

import restride as rs

src, dst = rs.TensorDesc("f32", (4, 6)), rs.TensorDesc.parse("f32[4,6]{1,0:T(2,3)}")
ends = [np.array([divmod(desc.offset_of(at), 6) for at in product(range(4), range(6))]) for desc in (src, dst)]
colors = [f"C{y // 2 * 2 + x // 3}" for y, x in product(range(4), range(6))]
frames = []
for step in np.concatenate([np.zeros(6), np.linspace(0, 1, 18), np.ones(6)]):
    figure, axes = plt.subplots(figsize=(5, 3.4), dpi=100)
    y, x = (ends[0] + (ends[1] - ends[0]) * step * step * (3 - 2 * step)).T
    axes.scatter(x, y, s=700, marker="s", c=colors)
    for number in range(24):
        axes.text(x[number], y[number], f"{number // 6},{number % 6}", ha="center", va="center", color="white")
    axes.set(xlim=(-0.6, 5.6), ylim=(3.6, -0.6), xticks=range(6), yticks=range(4), yticklabels=range(0, 24, 6))
    axes.set_title(f"{src}  to  {dst}: memory, in rows of 6 elements")
    figure.canvas.draw()
    frames.append(Image.fromarray(np.asarray(figure.canvas.buffer_rgba())))
    plt.close(figure)
frames[0].save("layout_animated.png", save_all=True, append_images=frames[1:], duration=80, loop=0, disposal=1)
