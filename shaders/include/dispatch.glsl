// What one dispatch is told besides its buffers: push constants, and the number of this invocation.
//
// src_base, dst_base: element offset of index 0 inside the bound window; sums with negative strides wrap modulo 2^32
//                     and come back inside the window, where the host has proven every access to lie.
// pieces:             how much work there is, in elements or in destination words; below 2^31.
// first:              destination word of piece 0, for kernels that own words.
//                     By rows: the pieces of a row, and lane_stride the blocks of rows (blocks.glsl).
// lane_stride:        distance between the four sources of a wide store, or the four destinations of a wide load.
// SCALES, for kernels that convert: src_pairs, dst_pairs are the places of index 0 in `pairs`; scale and zero point of a side
//                     are those of all its elements where it has no pairs; ..._lane and ..._plane are steps of convert.comp;
//                     post_ops is the place of the numbers of the first post-op in `pairs`; shifts: see FIXED in taps.glsl.
// Kernels that fill have no source: src_base is the bits of the element, lane_stride those of its upper word.
layout(push_constant) uniform Dispatch {
    uint src_base;
    uint dst_base;
    uint pieces;
    uint first;
    uint lane_stride;
#ifdef SCALES
    uint src_pairs;
    uint dst_pairs;
    float src_scale;
    float src_zero_point;
    float dst_scale;
    float dst_zero_point;
    float sum_scale;
    uint src_pair_lane;
    uint dst_pair_lane;
    uint plane_stride;
    uint src_pair_plane;
    uint dst_pair_plane;
    uint post_ops;
    uint shifts;
#endif
} dispatch;

// Invocations are numbered through the rows of groups: a dispatch has at most 65,535 groups along x, so large ones
// are folded into y. Group (3, 2) of (8, 4) groups of 128 starts at (2 * 8 + 3) * 128 = 2432.
uint group_number() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
