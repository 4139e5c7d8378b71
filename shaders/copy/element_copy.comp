// Copies elements of 8, 16 or 32 bits without changing their bits, along plain axes or through tables of source indices.
//
// A plain axis walks the source by its stride.
// FILL: the source is not read; every element gets the bits in dispatch.low.
// PAD: an element outside of the source, with a coordinate outside of axes[k].inside, gets the bits in
// dispatch.low and, if it has 64 bits, dispatch.high. Elements may have 64 bits only here.
// INDEX_TABLES: for an axis with a table, word c of the table is the source offset of destination index c: nearest
// resampling, exact for every element type.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "shared_constants.glsl"
layout(local_size_x = GROUP_SIZE) in;

#ifdef INDEX_TABLES
#define TABLES
#else
#define PUSHED_AXES 5
#endif
#include "buffers.glsl"
#include "dispatch.glsl"
#include "axes.glsl"
#include "elements.glsl"
#include "selected.glsl"
#include "destination.glsl"

#ifdef INDEX_TABLES
uint src_along(uint k, uint coordinate) {
    return axes[k].table == 0 ? coordinate * axes[k].src_stride : words[4 * axes[k].table + coordinate];
}
#endif

uvec2 element_bits(Walk walk) {
#ifdef PAD
    uint offset = walk.is_inside ? walk.src : 0u;  // llvmpipe loads even where the condition is false
    uvec2 bits = BITS == 64u ? uvec2(src[2u * offset], src[2u * offset + 1u]) : uvec2(load_bits(offset), 0u);
    return walk.is_inside ? bits : uvec2(dispatch.low, dispatch.high);
#elif defined(FILL)
    return uvec2(dispatch.low, 0);
#else
    return uvec2(load_bits(walk.src), 0);
#endif
}

#if !defined(FILL) && !defined(INDEX_TABLES)
// The destination is whole words without holes, and elements follow one another in the order of their indices.
layout(constant_id = 2) const bool WHOLE_WORDS = false;
layout(constant_id = 3) const bool FULL = false;  // every invocation of every group has such a word

// Only the coordinates of a word's first element need divisions; those of each further element follow by counting on.
uint coordinates[MAX_AXES];

#define FIRST_COORDINATE(k) \
    IF_AXIS(k) { \
        uint rest = k + 1 == RANK ? 0u : multiply_shift(index, axes[k].divide_by_size); \
        coordinates[k] = index - rest * axes[k].size; \
        index = rest; \
    }

#define VISIT_COORDINATE(k) \
    IF_AXIS(k) { \
        move_along(walk, k, coordinates[k]); \
        coordinates[k] += carry; \
        carry = coordinates[k] == axes[k].size ? 1u : 0u; \
        coordinates[k] = carry == 1u ? 0u : coordinates[k]; \
    }

void write_whole_word(uint word) {
    uint index = word * LANES - dispatch.dst_base;
    FOR_AXES_INWARD_OUT(FIRST_COORDINATE)
    uint bits = 0u;
    for (uint lane = 0u; lane < LANES; ++lane) {
        Walk walk = walk_start();
        uint carry = 1u;
        FOR_AXES_INWARD_OUT(VISIT_COORDINATE)
        bits |= in_lane(element_bits(walk).x, lane);
    }
    dst[word] = selected(bits, word);
}
#else
const bool WHOLE_WORDS = false;
const bool FULL = false;
void write_whole_word(uint word) {}
#endif

void main() {
    load_axes();
    uint piece = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (!WHOLE_WORDS) {
        write_piece(piece);
    } else if (FULL) {  // inside a branch, llvmpipe tests for each load and store whether its lane is active
        write_whole_word(dispatch.first_word + piece);
    } else if (piece < dispatch.pieces) {
        write_whole_word(dispatch.first_word + piece);
    }
}
