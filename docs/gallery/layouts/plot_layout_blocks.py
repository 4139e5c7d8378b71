"""Blocks of channels
==================

oneDNN's nChw4c: four channels of a pixel are neighbours, and six channels fill two blocks with padding. Channels are
drawn over columns, for each row of pixels; a thick line bounds a block.
"""

import restride as rs

rs.show("f32[1,6,2,3]:nChw4c").save("layout_blocks.svg")
