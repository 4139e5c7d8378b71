// Push constants of every kernel but the transposes and yuv.comp, and the number of an invocation.
//
// The words in the middle belong to the family, which a kernel names by a definition: one word never has two meanings under one
// name. The plans have the same names in the same order (restride.plan.problem and restride.plan.convert);
// tests/test_shader_contract.py compares them with the compiled modules.
//
// src_base, dst_base: element offset of index 0 inside the bound window; sums with negative strides wrap modulo 2^32
//                     and come back inside the window, where the host has proven every access to lie.
// pieces:             how much work there is, in elements or in destination words; below 2^31.
layout(push_constant) uniform Dispatch {
#if defined(FILL)
    uint low;  // bits of the element, or of its lower word; there is no source
#elif defined(PUSH_DIGITS)
    uint src_base_or_low;  // the latter where constant FILL is set
#else
    uint src_base;
#endif
    uint dst_base;
    uint pieces;
#if defined(PUSH_BLOCKS)
    uint row_pieces;  // pieces of a row
    uint blocks;      // blocks of rows, see blocks.glsl
#elif defined(PUSH_CHUNKS)
    uint row_size;      // elements or pixels of a row
    uint plane_stride;  // elements from plane to plane, on the side that has planes
#else
    uint first_word;  // destination word of piece 0, where an invocation owns words
#if defined(PAD)
    uint low;   // bits of an element that is not in the source, or of its lower word
    uint high;  // bits of the upper word of 64; else low
#elif defined(FILL) || defined(PUSH_DIGITS)
    uint high;  // bits of the upper word of 64
#elif defined(PUSH_OTHER)
    uint other_base;  // as src_base, of the second source
#else
    uint lane_stride;  // elements between neighbouring lanes of an invocation, on the side where they lie apart
#endif
#endif
#ifdef SCALES
    uint src_pairs;  // place of the pair of index 0 in `pairs`, of the source and of the destination
    uint dst_pairs;
    float src_scale;  // of all elements of a side that has no pairs
    float src_zero_point;
    float dst_scale;
    float dst_zero_point;
    float sum_scale;
#if defined(PUSH_CHANNELS)
    uint src_pair_lane;  // steps among the pairs from channel to channel of an invocation
    uint dst_pair_lane;
    uint lane_dst;  // destination elements from channel to channel
    uint box_rows;  // rows of a box
    uint row_dst;   // destination elements from row to row
#elif defined(PUSH_PLANES)
    uint src_pair_lane;  // steps among the pairs from element to element of a four
    uint dst_pair_lane;
    uint plane_stride;  // destination elements from plane to plane
    uint src_pair_plane;  // steps among the pairs from plane to plane
    uint dst_pair_plane;
#else
    uint unused_12, unused_13, unused_14, unused_15, unused_16;
#endif
    uint post_ops;  // place of the numbers of the first post-op in `pairs`
    uint shifts;    // see FIXED in taps.glsl; else 0
#endif
} dispatch;

// Invocations are numbered through the rows of groups: a dispatch has at most 65,535 groups along x, so large ones
// are folded into y. Group (3, 2) of (8, 4) groups of 128 starts at (2 * 8 + 3) * 128 = 2432.
uint group_number() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
