"""Interleaved channels
====================

DirectML's strides of NHWC, for sizes N, C, H, W: the three channels of a pixel have one colour, and are neighbours in
memory.
"""

import restride as rs

rs.show(rs.TensorDesc.from_dml((1, 3, 2, 4), (24, 1, 12, 3))).save("layout_interleaved.svg")
