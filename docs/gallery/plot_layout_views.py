"""A view: flipped, every second column
====================================

Indexing changes only the descriptor. The view's elements lie where those of the tensor lie; nothing was dispatched.
"""

import numpy as np
from gallery import save

import restride as rs

x = rs.asarray(np.arange(24, dtype=np.uint8).reshape(4, 6))
save(rs.show(x[::-1, ::2]).svg())
