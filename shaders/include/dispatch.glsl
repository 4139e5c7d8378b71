// Push constants of every kernel except the transposes and yuv.comp.
//
// The words in the middle depend on the family of kernels, which a kernel selects by a #define. Each name has one meaning in all
// families. The plans give the values by name, and KernelSpec.of (restride/kernel/spec.py) puts them in this order.
//
// src_base, dst_base: element offset of index 0 inside the bound window. Sums with negative strides wrap modulo 2^32 and end
//                     inside the window: the host has proven that every access is inside.
// pieces:             units of work, such as elements or destination words; below 2^31.
layout(push_constant) uniform Dispatch {
#if defined(FILL)
    uint low;  // bits of the element to write, or of its lower word; there is no source
#elif defined(PUSH_DIGITS)
    uint src_base_or_low;  // `low` if the constant FILLS is set
#else
    uint src_base;
#endif
    uint dst_base;
    uint pieces;
#if defined(PUSH_BLOCKS)
    uint row_pieces;  // pieces in a row
    uint blocks;      // blocks of rows, see blocks.glsl
#elif defined(PUSH_TABLE)
    uint first_word;  // destination word of piece 0, with OWN_WORDS
    uint table_row;   // table row of index 0
    uint lane_stride, lane_row;    // from pixel to pixel of a quad: source elements, rows of the table
    uint plane_stride, plane_row;  // from plane to plane: destination elements, rows of the table
    uint copy_stride;  // destination elements from copy to copy
#elif defined(PUSH_CHUNKS)
    uint row_size;      // elements or pixels in a row
    uint plane_stride;  // elements from plane to plane, on the side that has planes
#else
    uint first_word;  // destination word of piece 0, with OWN_WORDS
#if defined(PAD)
    uint low;   // bits of an element that is not in the source, or of its lower word
    uint high;  // bits of the upper word of a 64-bit element; else low
#elif defined(FILL) || defined(PUSH_DIGITS)
    uint high;  // bits of the upper word of a 64-bit element
#elif defined(PUSH_OTHER)
    uint other_base;  // src_base of the second source
#else
    uint lane_stride;  // elements from lane to lane of an invocation, on the side where lanes are not adjacent
#endif
#endif
#ifdef SCALES
    uint src_pairs, dst_pairs;  // index in `pairs` of the pair of element 0, for the source and for the destination
    float src_scale, src_zero_point, dst_scale, dst_zero_point;  // used by all elements of a side that has no pairs
    float sum_scale;
#if defined(PUSH_CHANNELS)
    uint src_pair_lane, dst_pair_lane;  // how many pairs apart neighbouring channels of an invocation are
    uint lane_dst;  // destination elements from channel to channel
    uint box_rows;  // rows in a box
    uint row_dst;   // destination elements from row to row
#elif defined(PUSH_PLANES)
    uint src_pair_lane, dst_pair_lane;  // how many pairs apart neighbouring elements of a quad are
    uint plane_stride;  // destination elements from plane to plane
    uint src_pair_plane, dst_pair_plane;  // how many pairs apart neighbouring planes are
#endif
    uint post_ops;  // index in `pairs` of the two numbers of the first post-op
    uint shifts;    // see FIXED in taps.glsl; otherwise 0
#endif
#ifdef PUSHED_AXES
    uint axes[5 * PUSHED_AXES];  // the innermost axes, see axes.glsl
#endif
} dispatch;

#include "group.glsl"
