// Nearest resampling by rows: an invocation moves ELEMENTS adjacent elements in each of ROWS rows, and converts them if needed.
//
// A source row that several consecutive rows read is loaded once. Enlarged twice, four neighbours read two elements of the source:
// one load gets an aligned group of GROUP elements, and each neighbour picks its element out of it.
// Tables have no weights: word c of the table of an axis is the source offset of coordinate c.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "shared_constants.glsl"
layout(local_size_x = GROUP_SIZE) in;

#define PUSH_BLOCKS
#include "buffers.glsl"
#include "scales.glsl"
#include "quads.glsl"

#define MAX_ELEMENTS 4u
#include "neighbours.glsl"

layout(constant_id = 11) const uint REPEATED = 1;  // how many consecutive rows are copies of one source row, if more than 1
layout(constant_id = 12) const bool WHOLE_BLOCKS = false;  // REPEATED > 1, and all blocks have ROWS rows, a multiple of REPEATED
layout(constant_id = 13) const uint GROUP = 0;  // elements of the aligned group that has all neighbours of an invocation; 0: there is no such group

// If all rows of a table have one pattern, no table is loaded: invocation p of a row reads group p, and its neighbour n reads
// element PATTERN >> 4 * n & 15 of that group. Enlarged twice, the neighbours read elements 0, 0, 1, 1 of each group of two, so
// PATTERN is 0x1100 plus HAS_PATTERN. 0: there is no pattern.
layout(constant_id = 14) const uint PATTERN = 0;
const bool IS_PATTERN = (PATTERN & HAS_PATTERN) != 0u;

const bool IS_COPY = STEPS == 0u && SRC_TYPE == DST_TYPE;
#define LANES_OF_SRC (32u / SRC_WIDTH)

uvec4 in_group;  // for each neighbour, which element of its group it reads

uint src_along(uint k, uint coordinate) {
    if ((TABLED >> k & 1u) == 0u) {
        return coordinate * axes[k].src_stride;
    }
    if (k == 0u && GROUP != 0u) {
        return IS_PATTERN ? coordinate / 4u * GROUP : 0u;
    }
    return words[4u * axes[k].table + coordinate];
}

void find_group() {
    uvec4 offsets = parameters[axes[0].table + walks[0].first / 4u];
    in_group = offsets % GROUP;
    walks[0].src += offsets.x - in_group.x;
}

// The elements of a row of the source.
uvec4 load_row(uint row_offset) {
    uvec4 quad = uvec4(0u);
    uvec4 group = uvec4(0u);
    if (GROUP != 0u) {
        group = load_vector((walks[0].src + row_offset) / LANES_OF_SRC, max(GROUP / LANES_OF_SRC, 1u));
    }
    [[unroll]] for (uint lane = 0u; lane < MAX_ELEMENTS; ++lane) {
        if (GROUP != 0u) {
            uint n = IS_PATTERN ? PATTERN >> 4u * lane & 15u : in_group[lane];
            uint place = n / LANES_OF_SRC;
            uint word = place == 0u ? group.x : place == 1u ? group.y : place == 2u ? group.z : group.w;
            quad[lane] = field(word, n % LANES_OF_SRC, SRC_WIDTH);
        } else if (lane < ELEMENTS) {
            quad[lane] = load_src(walks[lane].src + row_offset).x;
        }
    }
    return quad;
}

uint old_word(uint word) { return dst[word]; }

void store_row(uint row, uvec4 quad) {
    uint dst_offset = walks[0].dst + row * axes[ROW_AXIS].dst_stride;
    [[unroll]] for (uint lane = 0u; lane < MAX_ELEMENTS; ++lane) {
        if (lane < ELEMENTS && !IS_COPY) {
            uvec2 place = walks[lane].pairs + row * axes[ROW_AXIS].pairs;
            uvec2 old = load_old(dst_offset + lane);
            quad[lane] = converted(uvec2(quad[lane], 0u), old, src_pair_at(place.x), dst_pair_at(place.y)).x;
        }
    }
    store_vector(dst_offset / LANES, selected(packed(quad, BITS), dst_offset), ELEMENTS / LANES);
}

// Copies a whole block: loads each source row once and stores it REPEATED times, without a branch.
void copy_whole_block(uint first_row) {
    uvec4 quad;
    [[unroll]] for (uint n = 0u; n < MAX_ROWS; ++n) {
        if (n < ROWS) {
            if (n % REPEATED == 0u) {
                quad = load_row((first_row + n) / REPEATED * axes[ROW_AXIS].src_stride);
            }
            store_row(first_row + n, quad);
        }
    }
}

void main() {
    load_axes();
    uint number = invocation_number();
    if (number >= dispatch.pieces) {
        return;
    }
    Place place = place_of(number);
    walk_to_neighbours(place);
    if (GROUP != 0u && !IS_PATTERN) {
        find_group();
    }
    uint first_row = place.block * ROWS;
    if (WHOLE_BLOCKS && IS_COPY) {
        copy_whole_block(first_row);
        return;
    }
    uint end = min(first_row + ROWS, axes[ROW_AXIS].size);
    uint held = 0u;
    uvec4 quad;
    [[dont_unroll]] for (uint row = first_row; row < end; ++row) {
        uint offset = REPEATED > 1u ? row / REPEATED * axes[ROW_AXIS].src_stride : words[4u * axes[ROW_AXIS].table + row];
        if (row == first_row || offset != held) {
            quad = load_row(offset);
        }
        held = offset;
        store_row(row, quad);
    }
}
