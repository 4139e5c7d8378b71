// Converts elements of one type and layout to another, with scales, zero points, a sum and post-ops on the way.
//
// FOURS: work goes by fours, four neighbouring elements of the destination that fill whole words. In the source their elements are
//   lane_stride apart or, if WIDE, side by side in one run.
// IN_PLANES: one run of the source holds the fours of all PLANES. In u8 NHWC with 3 channels, 4 pixels are 12 bytes, which become
//   four elements in each of three planes, plane_stride apart.
// Without FOURS, any strides: an invocation makes one element, or those of one word that it owns (destination.glsl).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 128) in;

layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 1) buffer Dst { uint dst[]; };
layout(std430, binding = 2) readonly buffer Parameters { uvec4 parameters[]; };
layout(std430, binding = 2) readonly buffer Pairs { uvec2 pairs[]; };  // the same buffer as pairs (scale, zero point)
#ifdef FOURS
layout(std430, binding = 0) readonly buffer Src2 { uvec2 src2[]; };
layout(std430, binding = 0) readonly buffer Src4 { uvec4 src4[]; };
layout(std430, binding = 1) buffer Dst2 { uvec2 dst2[]; };
layout(std430, binding = 1) buffer Dst4 { uvec4 dst4[]; };
#endif

#define PUSH_PLANES
#include "scales.glsl"
#include "selected.glsl"

uint src_offset;
uvec2 pair_offset;

void begin_element() {
    src_offset = dispatch.src_base;
    pair_offset = uvec2(dispatch.src_pairs, dispatch.dst_pairs);
}

#define VISIT_AXIS(k) \
    src_offset += coordinate * SRC(k); \
    if (has(SRC_PAIRS | DST_PAIRS)) { \
        pair_offset += coordinate * PAIRS(k); \
    }
#include "axes.glsl"

#ifdef FOURS

#ifdef IN_PLANES
layout(constant_id = 6) const uint PLANES = 2;
const bool WIDE = true;
#else
const uint PLANES = 1;
layout(constant_id = 7) const bool WIDE = false;
#endif

// Enough work for one invocation to pay for its start. NEIGHBOURS says which fours, as in strided_copy.comp.
const uint FOURS_PER_INVOCATION = 4;
layout(constant_id = 1) const bool NEIGHBOURS = false;

const uint MOST_PLANES = 4;

// The fours of an invocation are neighbours along axis 0 and have the same pairs: coordinates and pairs are loaded once for them.
layout(constant_id = 10) const bool IN_ROW = false;

// Pairs differ at most between planes or within a four, not from index to index: those of the planes are loaded once for all
// invocations.
layout(constant_id = 8) const bool PAIRS_OF_PLANES = false;
const bool LOADS_PAIRS = PAIRS_OF_PLANES || IN_ROW;
vec2 src_pair_of[MOST_PLANES];
vec2 dst_pair_of[MOST_PLANES];

void load_pairs(uvec2 place) {
    [[unroll]] for (uint n = 0u; n < MOST_PLANES; ++n) {
        if (n < PLANES) {
            src_pair_of[n] = src_pair_at(place.x + n * dispatch.src_pair_plane);
            dst_pair_of[n] = dst_pair_at(place.y + n * dispatch.dst_pair_plane);
        }
    }
}

// The words of one run of the source: up to 16 elements of 32 bits, or 4 of 64.
uint run[4 * MOST_PLANES];

// With IN_ROW and a source of 8 or 16 bits: loads the runs of all fours of an invocation at once, 16 bytes or more from a multiple
// of 16 bytes.
layout(constant_id = 11) const bool LOADS_ROW = false;
uint row[4 * MOST_PLANES];

void load_row(uint offset) {
    [[unroll]] for (uint n = 0u; n < MOST_PLANES; ++n) {
        if (n < PLANES * SRC_WIDTH / 8u) {
            uvec4 words = src4[offset / (128u / SRC_WIDTH) + n];
            row[4u * n] = words.x;
            row[4u * n + 1u] = words.y;
            row[4u * n + 2u] = words.z;
            row[4u * n + 3u] = words.w;
        }
    }
}

void take_run_of_row() {
    uint words = PLANES * SRC_WIDTH / 8u;
    [[unroll]] for (uint n = 0u; n < 4u * MOST_PLANES; ++n) {
        if (n < words) {
            run[n] = row[n];
        }
        if (n + words < 4u * words) {
            row[n] = row[min(n + words, 4u * MOST_PLANES - 1u)];
        }
    }
}

void load_run(uint offset) {
    if (SRC_WIDTH == 8u) {
        [[unroll]] for (uint n = 0u; n < MOST_PLANES; ++n) {
            if (n < PLANES) {
                run[n] = src[offset / 4u + n];
            }
        }
    } else if (SRC_WIDTH == 16u) {
        [[unroll]] for (uint n = 0u; n < MOST_PLANES; ++n) {
            if (n < PLANES) {
                uvec2 words = src2[offset / 4u + n];
                run[2u * n] = words.x;
                run[2u * n + 1u] = words.y;
            }
        }
    } else {
        [[unroll]] for (uint n = 0u; n < MOST_PLANES; ++n) {
            if (n < PLANES * SRC_WIDTH / 32u) {
                uvec4 words = src4[offset / (128u / SRC_WIDTH) + n];
                run[4u * n] = words.x;
                run[4u * n + 1u] = words.y;
                run[4u * n + 2u] = words.z;
                run[4u * n + 3u] = words.w;
            }
        }
    }
}

#ifdef IN_PLANES
// Shifts the run by one element, so that the elements of the next plane take the places of this plane's.
void shift_run() {
    uint words = PLANES * SRC_WIDTH / 8u;
    [[unroll]] for (uint n = 0u; n < 4u * MOST_PLANES; ++n) {
        if (n < words) {
            uint next = n + 1u < words ? run[min(n + 1u, 4u * MOST_PLANES - 1u)] : 0u;
            run[n] = SRC_WIDTH == 32u ? next : run[n] >> SRC_WIDTH | next << (32u - SRC_WIDTH);
        }
    }
}
#endif

uvec2 of_run(uint element) {
    if (SRC_WIDTH == 64u) {
        return uvec2(run[2u * element], run[2u * element + 1u]);
    }
    uint lanes = 32u / SRC_WIDTH;
    return uvec2(run[element / lanes] >> (element % lanes * SRC_WIDTH) & 0xFFFFFFFFu >> (32u - SRC_WIDTH), 0u);
}

uint old_word(uint word) { return dst[word]; }

// Fours of the destination begin at multiples of four elements. If false, which 32 and 64 bits allow, they may begin anywhere.
layout(constant_id = 9) const bool WHOLE_STORES = true;

void store_four(uint offset, uvec2 four[4]) {
    uvec2 words[4] = four;
    if (DST_WIDTH == 8u) {
        words[0].x = four[0].x | four[1].x << 8 | four[2].x << 16 | four[3].x << 24;
    } else if (DST_WIDTH == 16u) {
        words[0].x = four[0].x | four[1].x << 16;
        words[1].x = four[2].x | four[3].x << 16;
    }
    [[unroll]] for (uint n = 0u; n < 4u; ++n) {
        words[n] = uvec2(selected(words[n].x, offset), selected(words[n].y, offset));
    }
    if (DST_WIDTH == 8u) {
        dst[offset / 4u] = words[0].x;
    } else if (DST_WIDTH == 16u) {
        dst2[offset / 4u] = uvec2(words[0].x, words[1].x);
    } else if (!WHOLE_STORES) {
        [[unroll]] for (uint n = 0u; n < 4u; ++n) {
            if (DST_WIDTH == 64u) {
                dst[2u * (offset + n)] = words[n].x;
                dst[2u * (offset + n) + 1u] = words[n].y;
            } else {
                dst[offset + n] = words[n].x;
            }
        }
    } else if (DST_WIDTH == 32u) {
        dst4[offset / 4u] = uvec4(words[0].x, words[1].x, words[2].x, words[3].x);
    } else {
        dst4[offset / 2u] = uvec4(words[0], words[1]);
        dst4[offset / 2u + 1u] = uvec4(words[2], words[3]);
    }
}

void make_four(uint offset, vec2 src_pair, vec2 dst_pair) {
    uvec2 four[4];
    [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
        uvec2 bits = WIDE ? of_run(lane * PLANES) : load_src(src_offset + lane * dispatch.lane_stride);
        if (lane != 0u && has(SRC_PAIRS_ALONG_FOUR)) {
            src_pair = src_pair_at(pair_offset.x + lane * dispatch.src_pair_lane);
        }
        if (lane != 0u && has(DST_PAIRS_ALONG_FOUR)) {
            dst_pair = dst_pair_at(pair_offset.y + lane * dispatch.dst_pair_lane);
        }
        four[lane] = converted(bits, load_old(offset + lane), src_pair, dst_pair);
    }
    store_four(offset, four);
}

uint dst_offset;

void find(uint index) {
    begin_element();
    dst_offset = dispatch.dst_base;
    FOR_COORDINATES_OF_INDEX
}

#ifdef IN_PLANES

// LONG is 0 for a conversion so short that the loop over planes is unrolled, which takes 0.8 of the time on llvmpipe. Otherwise it
// stays a loop, because its body already has the long conversion four times, once for each element of a four.
const uint LONG_STEPS = ~(SRC_ZERO_POINT | SRC_SCALE | DST_ZERO_POINT | SRC_PAIRS | DST_PAIRS);
const uint SHORT_STEPS = (ROUNDING & SHORT_QUOTIENTS) != 0u ? DST_SCALE : 0u;
const uint LONG = (STEPS & LONG_STEPS & ~SHORT_STEPS) | (ROUNDING & ROUNDS_FIRST) | (DST_TYPE ^ F32);

vec2 src_pairs[MOST_PLANES];  // of this plane and the planes after it
vec2 dst_pairs[MOST_PLANES];

void make_plane(uint plane) {
    vec2 src_pair = LOADS_PAIRS ? src_pairs[0] : src_pair_at(pair_offset.x);
    vec2 dst_pair = LOADS_PAIRS ? dst_pairs[0] : dst_pair_at(pair_offset.y);
    make_four(dst_offset + plane * dispatch.plane_stride, src_pair, dst_pair);
    pair_offset += uvec2(dispatch.src_pair_plane, dispatch.dst_pair_plane);
    shift_run();
    [[unroll]] for (uint n = 1u; n < MOST_PLANES; ++n) {
        src_pairs[n - 1u] = src_pairs[n];
        dst_pairs[n - 1u] = dst_pairs[n];
    }
}

#endif

void make_fours() {
    if (LOADS_ROW) {
        take_run_of_row();
    } else if (WIDE) {
        load_run(src_offset);
    }
#ifdef IN_PLANES
    src_pairs = src_pair_of;
    dst_pairs = dst_pair_of;
    if (LONG == 0u) {
        [[unroll]] for (uint plane = 0u; plane < MOST_PLANES; ++plane) {
            if (plane < PLANES) {
                make_plane(plane);
            }
        }
    } else {
        [[dont_unroll]] for (uint plane = 0u; plane < PLANES; ++plane) {
            make_plane(plane);
        }
    }
#else
    vec2 src_pair = LOADS_PAIRS ? src_pair_of[0] : src_pair_at(pair_offset.x);
    vec2 dst_pair = LOADS_PAIRS ? dst_pair_of[0] : dst_pair_at(pair_offset.y);
    make_four(dst_offset, src_pair, dst_pair);
#endif
}

void main() {
    load_axes();
    uint start = group_number() * gl_WorkGroupSize.x * FOURS_PER_INVOCATION;
    start += gl_LocalInvocationID.x * (NEIGHBOURS ? FOURS_PER_INVOCATION : 1u);
    uint step = NEIGHBOURS ? 1u : gl_WorkGroupSize.x;
    if (IN_ROW) {
        find(min(start, dispatch.pieces - FOURS_PER_INVOCATION));
        if (LOADS_ROW) {
            load_row(src_offset);
        }
    }
    if (LOADS_PAIRS) {
        load_pairs(PAIRS_OF_PLANES ? uvec2(dispatch.src_pairs, dispatch.dst_pairs) : pair_offset);
    }
    [[dont_unroll]] for (uint n = 0u; n < FOURS_PER_INVOCATION; ++n) {
        uint index = start + n * step;
        if (index < dispatch.pieces) {
            if (!IN_ROW) {
                find(index);
            }
            make_fours();
            if (IN_ROW) {
                src_offset += SRC(0);
                dst_offset += DST(0);
            }
        }
    }
}

#else

#include "elements.glsl"
#include "destination.glsl"

uint old_word(uint word) { return OWN_WORDS || LANES == 1 ? dst[word] : atomicOr(dst[word], 0u); }

uvec2 element_bits(uint dst_offset) {
    vec2 src_pair = src_pair_at(pair_offset.x);
    vec2 dst_pair = dst_pair_at(pair_offset.y);
    return converted(load_src(src_offset), load_old(dst_offset), src_pair, dst_pair);
}

void main() {
    load_axes();
    write_piece(group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x);
}

#endif
