"""A view: flipped, every second column
====================================

Indexing changes only the descriptor. The view's elements lie where those of the tensor lie; nothing was dispatched.
"""

import numpy as np

import restride as rs

x = rs.asarray(np.arange(24, dtype=np.uint8).reshape(4, 6))
rs.show(x[::-1, ::2]).save("layout_views.svg")
