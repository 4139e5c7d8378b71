// Resamples by cells: along every resampled axis, each output reads a cell of the same size, with the same weights, at a fixed
// distance from the one before.
// Halved by mode area, output (y, x) is the mean of a cell: rows 2 y and 2 y + 1, columns 2 x and 2 x + 1. So the first two rows of
// each table describe all cells, and are loaded once for all invocations: llvmpipe loads lane by lane, and a load costs as much as
// ten sums. An invocation itself loads only words of the source, each of them once.
// An invocation computes four neighbours along axis 0 in each of ROWS rows; on both sides they begin at a word.
// Sums are nested as in resample.comp, and the bits are the same, except for the sign of a NaN, which a compiler may choose.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "shared_constants.glsl"
layout(local_size_x = GROUP_SIZE) in;

#define PUSH_BLOCKS
#include "buffers.glsl"
#include "scales.glsl"
#include "taps.glsl"
#include "quads.glsl"

layout(constant_id = 7) const uint ROW_AXIS = 1;  // the axis of the last slot; axis 0 is the axis of slot 0
layout(constant_id = 8) const uint AXIS_1 = 0;  // the axis of slot 1, if there are three slots
layout(constant_id = 9) const uint TAPS = 1;  // taps along the last slot, 1 to 4
layout(constant_id = 10) const uint TAPS_0 = 1;  // taps along slot 0
layout(constant_id = 11) const uint TAPS_1 = 1;  // taps along slot 1
layout(constant_id = 12) const uint STEP = 1;  // elements from cell to cell along axis 0, 1 to 4
layout(constant_id = 13) const uint ROWS = 8;  // rows that an invocation computes

const uint MAX_LOADS = 4u * MAX_TAPS_OF_ROWS;  // words of a row of the source: for each of four neighbours as many f32 as taps

const bool HAS_AXIS_1 = SLOTS == 3u;

#define LANES_OF_SRC (32u / SRC_WIDTH)
#define LOADS ((3u * STEP + TAPS_0 + LANES_OF_SRC - 1u) / LANES_OF_SRC)

// The cells along an axis: the source offset of the first cell, the distance from cell to cell, and the weights of a cell.
struct Cells {
    uint first, apart;
    vec4 weights;
};

Cells cells_0, cells_1, row_cells;

#define SKIPPED_AXES (1u | 1u << ROW_AXIS)
#define TABLES
#include "axes.glsl"
#include "blocks.glsl"

uint src_along(uint k, uint coordinate) {
    if (k == 0u) {
        return cells_0.first + coordinate * STEP;
    }
    return HAS_AXIS_1 && k == AXIS_1 ? cells_1.first + coordinate * cells_1.apart : coordinate * axes[k].src_stride;
}

// Loads the cells from the first two rows of the table of axis k, or from its only row.
Cells load_cells(uint k, uint taps) {
    uint first = words[4u * axes[k].table + taps];
    uint next = words[4u * (axes[k].table + min(1u, axes[k].size - 1u) * rows_of_taps(taps)) + taps];
    return Cells(first, next - first, uintBitsToFloat(parameters[axes[k].table]));
}

// Unlike in taps.glsl, every product counts, because no weight is zero.
vec4 added(vec4 sums, float weight, vec4 values) {
    precise vec4 products = weight * values;
    precise vec4 totals = sums + products;
    return totals;
}

// The sums of the neighbours along axis 0.
vec4 sums_0(uint offset) {
    uint loaded[MAX_LOADS];
    [[unroll]] for (uint n = 0u; n < MAX_LOADS; ++n) {
        if (n < LOADS) {
            loaded[n] = src[offset / LANES_OF_SRC + n];
        }
    }
    vec4 sums = vec4(NOTHING);
    [[unroll]] for (uint tap = 0u; tap < MAX_TAPS_OF_ROWS; ++tap) {
        if (tap < TAPS_0) {
            vec4 values;
            [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
                uint n = lane * STEP + tap;
                values[lane] = number_of(uvec2(field(loaded[n / LANES_OF_SRC], n % LANES_OF_SRC, SRC_WIDTH), 0u));
            }
            sums = added(sums, cells_0.weights[tap], values);
        }
    }
    return sums;
}

vec4 sums_1(uint offset) {
    if (!HAS_AXIS_1) {
        return sums_0(offset);
    }
    vec4 sums = vec4(NOTHING);
    [[unroll]] for (uint tap = 0u; tap < MAX_TAPS_OF_ROWS; ++tap) {
        if (tap < TAPS_1) {
            sums = added(sums, cells_1.weights[tap], sums_0(offset + tap * axes[AXIS_1].src_stride));
        }
    }
    return sums;
}

uint old_word(uint word) { return dst[word]; }

void write_row(Walk walk, uint row) {
    uint offset = walk.src + row_cells.first + row * row_cells.apart;
    vec4 sums = vec4(NOTHING);
    [[unroll]] for (uint tap = 0u; tap < MAX_TAPS_OF_ROWS; ++tap) {
        if (tap < TAPS) {
            sums = added(sums, row_cells.weights[tap], sums_1(offset + tap * axes[ROW_AXIS].src_stride));
        }
    }
    uint dst_offset = walk.dst + row * axes[ROW_AXIS].dst_stride;
    uvec4 quad;
    [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
        uvec2 place = walk.pairs + row * axes[ROW_AXIS].pairs + lane * axes[0].pairs;
        quad[lane] = converted_sum(sums[lane], dst_offset + lane, place).x;
    }
    store_quad(dst_offset, quad, DST_WIDTH);
}

void main() {
    load_axes();
    cells_0 = load_cells(0u, TAPS_0);
    row_cells = load_cells(ROW_AXIS, TAPS);
    if (HAS_AXIS_1) {
        cells_1 = load_cells(AXIS_1, TAPS_1);
    }
    uint number = invocation_number();
    if (number >= dispatch.pieces) {
        return;
    }
    Place place = place_of(number);
    Walk walk = walk_to(place.outer);
    move_along(walk, 0u, 4u * place.piece);
    uint row = place.block * ROWS;
    uint end = min(row + ROWS, axes[ROW_AXIS].size);
    [[dont_unroll]] for (; row < end; ++row) {
        write_row(walk, row);
    }
}
