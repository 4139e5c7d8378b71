// Converts elements of one type and layout to another, with scales, zero points, a sum and post-ops on the way.
//
// QUADS: an invocation converts quads. A quad is four neighbouring elements of the destination that fill whole words. In the
//   source its elements are lane_stride apart or, if WIDE, adjacent.
// IN_PLANES: adjacent elements of the source become one quad in each of PLANES planes, plane_stride apart. In u8 NHWC with 3
//   channels, 4 pixels are 12 bytes, which become four elements in each of three planes.
// Without QUADS, strides are arbitrary: an invocation converts one element, or the elements of a word that it owns
//   (destination.glsl).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "shared_constants.glsl"
layout(local_size_x = GROUP_SIZE) in;

#ifdef QUADS
#define PUSH_PLANES
#endif
#include "buffers.glsl"
#include "scales.glsl"
#include "quads.glsl"
#include "axes.glsl"

#ifdef QUADS

#ifdef IN_PLANES
layout(constant_id = 6) const uint PLANES = 2;
const bool WIDE = true;
#else
const uint PLANES = 1;
layout(constant_id = 7) const bool WIDE = false;
#endif

// Each invocation gets enough work to outweigh the cost of its start. NEIGHBOURS says which quads, as in strided_copy.comp.
layout(constant_id = 1) const bool NEIGHBOURS = false;

const uint MAX_PLANES = 4;

// The quads of an invocation are neighbours along axis 0 with equal scales and zero points: coordinates and pairs are loaded once.
layout(constant_id = 10) const bool IN_ROW = false;

// Pairs (a scale and a zero point) differ at most between planes or within a quad, not from index to index. So the pairs of all
// planes are loaded once for all invocations.
layout(constant_id = 8) const bool PAIRS_OF_PLANES = false;
const bool LOADS_PAIRS = PAIRS_OF_PLANES || IN_ROW;
vec2 src_pair_of[MAX_PLANES];
vec2 dst_pair_of[MAX_PLANES];

void load_pairs(uvec2 place) {
    [[unroll]] for (uint n = 0u; n < MAX_PLANES; ++n) {
        if (n < PLANES) {
            src_pair_of[n] = src_pair_at(place.x + n * dispatch.src_pair_plane);
            dst_pair_of[n] = dst_pair_at(place.y + n * dispatch.dst_pair_plane);
        }
    }
}

// The adjacent elements that are loaded at once: up to 16 elements of 32 bits, or 4 of 64.
const uint MAX_WORDS = 4 * MAX_PLANES;
uint run[MAX_WORDS];

// The runs of all quads of an invocation are loaded at once: 16 bytes or more, which begin at a multiple of 16 bytes. Only with
// IN_ROW and source elements of 8 or 16 bits.
layout(constant_id = 11) const bool LOADS_ROW = false;
uint row[MAX_WORDS];

#define RUN_WORDS (PLANES * SRC_WIDTH / 8u)
#define WORD_OF_SRC(offset) (SRC_WIDTH == 64u ? 2u * (offset) : (offset) / (32u / min(SRC_WIDTH, 32u)))

// Loads `total` words, `count` words at a time: 1, 2 or 4.
void load_vectors(uint word, uint count, uint total, out uint loaded[MAX_WORDS]) {
    [[unroll]] for (uint n = 0u; n < MAX_WORDS; ++n) {
        if (n < total && n % count == 0u) {
            uvec4 vector = load_vector(word + n, count);
            [[unroll]] for (uint part = 0u; part < 4u; ++part) {
                if (part < count) {
                    loaded[min(n + part, MAX_WORDS - 1u)] = vector[part];
                }
            }
        }
    }
}

void take_run_of_row() {
    [[unroll]] for (uint n = 0u; n < MAX_WORDS; ++n) {
        if (n < RUN_WORDS) {
            run[n] = row[n];
        }
        if (n + RUN_WORDS < 4u * RUN_WORDS) {
            row[n] = row[min(n + RUN_WORDS, MAX_WORDS - 1u)];
        }
    }
}

// Shifts the loaded elements by one, so that they begin with the next plane.
void shift_run() {
    [[unroll]] for (uint n = 0u; n < MAX_WORDS; ++n) {
        if (n < RUN_WORDS) {
            uint next = n + 1u < RUN_WORDS ? run[min(n + 1u, MAX_WORDS - 1u)] : 0u;
            run[n] = SRC_WIDTH == 32u ? next : funnel(run[n], next, SRC_WIDTH & 31u);
        }
    }
}

uint run_word(uint n) { return run[n]; }

DEFINE_LOAD(load_run, run_word)

uint old_word(uint word) { return dst[word]; }

// Quads of the destination begin at multiples of four elements. If false, they may begin anywhere: only with 32 and 64 bits.
layout(constant_id = 9) const bool WHOLE_STORES = true;

void store_elements(uint offset, uvec4 low, uvec4 high) {
    if (!WHOLE_STORES && DST_WIDTH >= 32u) {
        low = selected(low, offset);
        high = selected(high, offset);
        [[unroll]] for (uint n = 0u; n < 4u; ++n) {
            if (DST_WIDTH == 64u) {
                dst[2u * (offset + n)] = low[n];
                dst[2u * (offset + n) + 1u] = high[n];
            } else {
                dst[offset + n] = low[n];
            }
        }
    } else if (DST_WIDTH == 64u) {
        store_quad(2u * offset, uvec4(low.x, high.x, low.y, high.y), 32u);
        store_quad(2u * offset + 4u, uvec4(low.z, high.z, low.w, high.w), 32u);
    } else {
        store_quad(offset, low, DST_WIDTH);
    }
}

void write_quad(Walk walk, vec2 src_pair, vec2 dst_pair) {
    uvec4 low, high;
    [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
        uvec2 bits = WIDE ? load_run(lane * PLANES, SRC_WIDTH) : load_src(walk.src + lane * dispatch.lane_stride);
        if (lane != 0u && has(SRC_PAIRS_ALONG_QUAD)) {
            src_pair = src_pair_at(walk.pairs.x + lane * dispatch.src_pair_lane);
        }
        if (lane != 0u && has(DST_PAIRS_ALONG_QUAD)) {
            dst_pair = dst_pair_at(walk.pairs.y + lane * dispatch.dst_pair_lane);
        }
        uvec2 element = converted(bits, load_old(walk.dst + lane), src_pair, dst_pair);
        low[lane] = element.x;
        high[lane] = element.y;
    }
    store_elements(walk.dst, low, high);
}

// LONG is 0 for a conversion so short that the loop over planes is unrolled, which takes 0.8 of the time on llvmpipe. Otherwise the
// loop stays, because its body already holds four copies of a long conversion, one for each element of a quad.
const uint LONG_STEPS = ~(SRC_ZERO_POINT | SRC_SCALE | DST_ZERO_POINT | SRC_PAIRS | DST_PAIRS);
const uint SHORT_STEPS = (ROUNDING & SHORT_QUOTIENTS) != 0u ? DST_SCALE : 0u;
const uint LONG = (STEPS & LONG_STEPS & ~SHORT_STEPS) | (ROUNDING & ROUNDS_FIRST) | (DST_TYPE ^ F32);

vec2 src_pairs[MAX_PLANES];  // pairs of this plane and the planes after it
vec2 dst_pairs[MAX_PLANES];

// Writes four elements of a plane, and shifts the loaded elements and the pairs to the next plane.
void write_plane(Walk walk, uint plane) {
    walk.dst += plane * dispatch.plane_stride;
    walk.pairs += plane * uvec2(dispatch.src_pair_plane, dispatch.dst_pair_plane);
    vec2 src_pair = LOADS_PAIRS ? src_pairs[0] : src_pair_at(walk.pairs.x);
    vec2 dst_pair = LOADS_PAIRS ? dst_pairs[0] : dst_pair_at(walk.pairs.y);
    write_quad(walk, src_pair, dst_pair);
    shift_run();
    [[unroll]] for (uint n = 1u; n < MAX_PLANES; ++n) {
        src_pairs[n - 1u] = src_pairs[n];
        dst_pairs[n - 1u] = dst_pairs[n];
    }
}

void write_quads(Walk walk) {
    if (LOADS_ROW) {
        take_run_of_row();
    } else if (WIDE) {
        load_vectors(WORD_OF_SRC(walk.src), min(SRC_WIDTH / 8u, 4u), RUN_WORDS, run);
    }
    src_pairs = src_pair_of;
    dst_pairs = dst_pair_of;
    if (PLANES == 1u || LONG == 0u) {
        [[unroll]] for (uint plane = 0u; plane < MAX_PLANES; ++plane) {
            if (plane < PLANES) {
                write_plane(walk, plane);
            }
        }
    } else {
        [[dont_unroll]] for (uint plane = 0u; plane < PLANES; ++plane) {
            write_plane(walk, plane);
        }
    }
}

void main() {
    load_axes();
    uint start = group_number() * gl_WorkGroupSize.x * QUADS_PER_INVOCATION;
    start += gl_LocalInvocationID.x * (NEIGHBOURS ? QUADS_PER_INVOCATION : 1u);
    uint step = NEIGHBOURS ? 1u : gl_WorkGroupSize.x;
    Walk walk = walk_start();
    if (IN_ROW) {
        walk = walk_to(min(start, dispatch.pieces - QUADS_PER_INVOCATION));
    }
    if (LOADS_ROW) {
        load_vectors(WORD_OF_SRC(walk.src), 4u, 4u * RUN_WORDS, row);
    }
    if (LOADS_PAIRS) {
        load_pairs(PAIRS_OF_PLANES ? walk_start().pairs : walk.pairs);
    }
    [[dont_unroll]] for (uint n = 0u; n < QUADS_PER_INVOCATION; ++n) {
        uint index = start + n * step;
        if (index < dispatch.pieces) {
            if (!IN_ROW) {
                walk = walk_to(index);
            }
            write_quads(walk);
            if (IN_ROW) {
                walk.src += axes[0].src_stride;
                walk.dst += axes[0].dst_stride;
            }
        }
    }
}

#else

#include "elements.glsl"
#include "destination.glsl"

uint old_word(uint word) { return OWN_WORDS || LANES == 1 ? dst[word] : atomicOr(dst[word], 0u); }

uvec2 element_bits(Walk walk) {
    return converted(load_src(walk.src), load_old(walk.dst), src_pair_at(walk.pairs.x), dst_pair_at(walk.pairs.y));
}

void main() {
    load_axes();
    write_piece(invocation_number());
}

#endif
