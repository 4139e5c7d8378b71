"""Numbers that plans and kernels share; the build writes them to shaders/include/shared_constants.glsl.

This module imports nothing: tools/constants_include.py reads it where no dependency is installed. Every name is a
``const uint`` in that file.
"""

GROUP_SIZE = 128
"""Invocations of a work group in every kernel except the transpose through registers."""

GROUP_BLOCKS = 64
"""Blocks that a group of transpose.comp copies, one per invocation."""

# The parameters of a dispatch.

MAX_AXES = 12
"""Maximum number of axes that a kernel can walk."""

HEADER_ROWS, AXIS_ROWS = 2, 3
"""Rows of four words before the axes, and rows of an axis."""

# Copies.

PIECES_EACH = 4
"""Maximum number of units (single words, or groups of four) that an invocation of strided_copy.comp moves."""

WORDS_APART, WORDS_REVERSED, WORDS_IN_A_ROW = 0, 1, 2
"""ARRANGEMENT: how the four words of one 128-bit load or store lie on the other side.

Apart: ``lane_stride`` from one to the next. Reversed, in a gather: a flip loads them at once, in reverse order. In a
row, in a scatter: the 16 words of an invocation's four pieces are adjacent, and begin at any word.
"""

SHORT_ROWS_WORDS = 1024
"""Words of elements in the memory that a group of short_rows.comp shares."""

NARROW_EDGE, WIDE_EDGE = 64, 32
"""Elements along an edge of a tile of transpose_shared.comp: the narrow ones have 8 or 16 bits, the wide ones 32 or 64.

The tile has this edge along axis a, which is contiguous in the destination, and along axis b unless it is shortened.
"""

# Pixels and rows of an invocation.

MAX_CHANNELS = 4
"""Maximum number of channels of a pixel that one invocation handles."""

MAX_ROWS, MAX_ROWS_OF_BOX = 8, 4
"""Maximum number of rows of an invocation that resamples, and of one that resamples boxes to words."""

# Conversions.

NEAREST_EVEN, TRUNCATE, HALF_AWAY = 0, 1, 2
"""ROUNDING: how floats become integers."""

SATURATES, ROUNDS_FIRST, NORMAL_QUOTIENTS, SHORT_QUOTIENTS = 4, 8, 16, 32
"""ROUNDING: flags beside the kind of rounding."""

SRC_ZERO_POINT, SRC_SCALE, SUM, DST_SCALE, DST_ZERO_POINT, SRC_PAIRS, DST_PAIRS = 1, 2, 4, 8, 16, 32, 64
"""STEPS: which steps there are, and which side has several pairs of scale and zero point."""

SRC_PAIRS_ALONG_QUAD, DST_PAIRS_ALONG_QUAD = 128, 256
"""STEPS, in convert.comp: the elements of a quad have different pairs."""

FIRST_POST_OP = 9
"""STEPS: from this bit on two bits for each post-op in turn, its kind or 0."""

MAX_POST_OPS = 4
"""Maximum number of post-ops of one operation."""

LINEAR, CLIP, RELU = 1, 2, 3
"""Kinds of post-ops."""

QUADS_PER_INVOCATION = 4
"""Quads that an invocation of convert.comp converts."""

# Sums of weighted elements.

MAX_TAPS_OF_ROWS = 4
"""Maximum number of taps along each axis of a sum by rows or by cells."""

MAX_RUN = 8
"""Maximum number of source elements that neighbours read as one run."""

HAS_PATTERN = 1 << 16
"""PATTERN, in resample_moves.comp: the flag that there is a pattern."""

GRADIENT = 4
"""SLOTS_AND_KIND: the flag of a gradient, where a sum may have no taps; the sum is then 0.0."""

LONG_SLOT = 8
"""SLOTS_AND_KIND: ``LONG_SLOT << slot`` says that sums along a slot may have more than ``SHORT_SUM`` nonzero taps."""

SHORT_SUM = 32
"""Maximum nonzero taps of a sum without compensation for rounding.

Compensation takes a fifth longer on llvmpipe; 32 additions lose a few units in the last place. An antialiased cubic
from 1080 to 224 has 20 taps.
"""

# Boxes of images.

BOX_COLUMNS = 4
"""Columns that an invocation of crop_pixels.comp computes."""

TAP_BITS, END_BIT = 0xFFF, 16
"""The range of a table row: its low bits are the first tap inside the image; from ``END_BIT`` on, the tap after the
last one inside.
"""

HELD, IS_FILL = 1 << 15, 1 << 31
"""Flags of a range: all taps read the first one's element; the row's output is fill."""

PAST = 0xFFFFFFFF
"""The range of columns after the last one, in the table of crop_pixels.comp."""

ROW_BIT = 16
"""A word has the row of a box from this bit on, and the channel below it."""

PIXELS_APART, PIXELS_BYTES, PIXELS_ADJACENT, PIXELS_IN_WORDS = 0, 1, 2, 3
"""PIXELS: how the channels of a source pixel lie.

Apart: ``lane_stride`` from one to the next. Bytes: adjacent bytes. Adjacent: the pixels of neighbouring columns are
adjacent too. In words: bytes of one word, from the lowest on.
"""
