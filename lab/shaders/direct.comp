// A hand-written kernel to resize both axes of planes or pixels of one shape at once, with at most four taps along each.
//
// An invocation computes ELEMENTS neighbours of eight rows, and reuses its sums along source rows that the next row reads too.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint SRC_ROWS = 1u;
layout(constant_id = 2) const uint SRC_COLUMNS = 1u;
layout(constant_id = 3) const uint ROWS = 1u;
layout(constant_id = 4) const uint COLUMNS = 1u;
layout(constant_id = 5) const uint CHANNELS = 1u;  // of a pixel
layout(constant_id = 6) const uint ROW_TAPS = 2u;
layout(constant_id = 7) const uint COLUMN_TAPS = 2u;
layout(constant_id = 8) const uint EDGES = 0u;  // 1: the first and the last row are each read once more
layout(constant_id = 9) const uint ROW_SHIFTS = 0u;
layout(constant_id = 10) const uint COLUMN_SHIFTS = 0u;
layout(constant_id = 11) const uint ELEMENTS = 4u;  // or 1
#include "values.glsl"

const uint BLOCK = 8u;
const uint ROW_TABLE = COLUMNS * (1u + COLUMN_TAPS);  // after the table of columns

void main() {
    uint element = gl_GlobalInvocationID.x * ELEMENTS, plane = gl_WorkGroupID.z;
    if (element >= COLUMNS * CHANNELS) {
        return;
    }
    uint first[4];
    VALUE weights[4][4];
    [[unroll]] for (uint n = 0u; n < ELEMENTS; ++n) {
        uint column = (element + n) / CHANNELS;
        first[n] = table[column] * CHANNELS + (element + n) % CHANNELS;
        [[unroll]] for (uint tap = 0u; tap < COLUMN_TAPS; ++tap) {
            weights[n][tap] = value_of(table[COLUMNS + column * COLUMN_TAPS + tap]);
        }
    }
    VALUE kept[4][4];
    uint held = ~0u;
    for (uint row = gl_WorkGroupID.y * BLOCK; row < min(gl_WorkGroupID.y * BLOCK + BLOCK, ROWS); ++row) {
        uint lowest = table[ROW_TABLE + row];
        if (lowest != held) {
            [[unroll]] for (uint down = 0u; down < ROW_TAPS; ++down) {
                uint line = EDGES == 0u ? lowest + down : min(max(lowest + down, 1u) - 1u, SRC_ROWS - 1u);
                uint offset = (plane * SRC_ROWS + line) * SRC_COLUMNS * CHANNELS;
                [[unroll]] for (uint n = 0u; n < ELEMENTS; ++n) {
                    VALUE sum = NOTHING;
                    [[unroll]] for (uint tap = 0u; tap < COLUMN_TAPS; ++tap) {
                        sum = added(sum, weights[n][tap], load(offset + first[n] + tap * CHANNELS), COLUMN_SHIFTS);
                    }
                    kept[down][n] = settled(sum, COLUMN_SHIFTS);
                }
            }
            held = lowest;
        }
        VALUE4 sums = VALUE4(NOTHING);
        [[unroll]] for (uint down = 0u; down < ROW_TAPS; ++down) {
            VALUE w = value_of(table[ROW_TABLE + ROWS + row * ROW_TAPS + down]);
            [[unroll]] for (uint n = 0u; n < ELEMENTS; ++n) {
                sums[n] = added(sums[n], w, kept[down][n], ROW_SHIFTS);
            }
        }
        [[unroll]] for (uint n = 0u; n < ELEMENTS; ++n) {
            sums[n] = settled(sums[n], ROW_SHIFTS);
        }
        uint offset = (plane * ROWS + row) * COLUMNS * CHANNELS + element;
        if (ELEMENTS == 4u) {
            store_quad(offset, sums);
        } else {
            dst[offset] = bits_of(sums.x);
        }
    }
}
