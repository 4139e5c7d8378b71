// A hand-written kernel to resize one axis of one shape, [OUTER, SRC_SIZE, INNER] to [OUTER, DST_SIZE, INNER].
//
// ALONG: INNER is a pixel of at most four channels; an invocation computes a pixel in each of four rows, which share four weights
// at a time. QUADS then means that rows and their taps begin at multiples of four, and taps are whole quads.
// Without ALONG, an invocation computes four neighbours, or one without QUADS. All invocations of a work group have the same
// weights, because work groups are one row high.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint OUTER = 1u;
layout(constant_id = 2) const uint SRC_SIZE = 1u;
layout(constant_id = 3) const uint DST_SIZE = 1u;
layout(constant_id = 4) const uint INNER = 1u;
layout(constant_id = 5) const uint TAPS = 4u;
layout(constant_id = 6) const bool QUADS = true;
layout(constant_id = 7) const uint EDGES = 0u;  // 1: the first and the last element of the axis are each read once more
layout(constant_id = 8) const uint SHIFTS = 0u;
#include "values.glsl"

VALUE weight(uint index, uint tap) { return value_of(table[DST_SIZE + index * TAPS + tap]); }

#ifdef ALONG

const uint ROWS = 4u;

void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index >= DST_SIZE) {
        return;
    }
    uint first = table[index];
    VALUE sums[ROWS][4];
    [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
        [[unroll]] for (uint c = 0u; c < INNER; ++c) {
            sums[row][c] = NOTHING;
        }
    }
    [[dont_unroll]] for (uint tap = 0u; tap < TAPS; tap += 4u) {
        VALUE weights[4];
        [[unroll]] for (uint n = 0u; n < 4u; ++n) {
            weights[n] = weight(index, tap + n);
        }
        [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
            uint line = min(gl_WorkGroupID.y * ROWS + row, OUTER - 1u);
            uint offset = (line * SRC_SIZE + first + tap) * INNER;
            VALUE4 quads[4];
            [[unroll]] for (uint c = 0u; c < INNER; ++c) {
                if (QUADS) {
                    quads[c] = load_quad(offset + 4u * c);
                } else {
                    uint last = OUTER * SRC_SIZE * INNER - 1u, at = offset + 4u * c;
                    quads[c] = VALUE4(load(at), load(min(at + 1u, last)), load(min(at + 2u, last)), load(min(at + 3u, last)));
                }
            }
            [[unroll]] for (uint n = 0u; n < 4u; ++n) {
                [[unroll]] for (uint c = 0u; c < INNER; ++c) {
                    uint element = n * INNER + c;
                    sums[row][c] = added(sums[row][c], weights[n], quads[element / 4u][element % 4u], SHIFTS);
                }
            }
        }
    }
    [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
        uint line = gl_WorkGroupID.y * ROWS + row;
        if (line < OUTER) {
            [[unroll]] for (uint c = 0u; c < INNER; ++c) {
                dst[(line * DST_SIZE + index) * INNER + c] = bits_of(settled(sums[row][c], SHIFTS));
            }
        }
    }
}

#else

void main() {
    uint across = gl_GlobalInvocationID.x * (QUADS ? 4u : 1u), index = gl_WorkGroupID.y, outer = gl_WorkGroupID.z;
    uint first = table[index];
    if (across >= INNER) {
        return;
    }
    VALUE4 sums = VALUE4(NOTHING);
    [[dont_unroll]] for (uint tap = 0u; tap < TAPS; ++tap) {
        uint row = EDGES == 0u ? first + tap : min(max(first + tap, 1u) - 1u, SRC_SIZE - 1u);
        uint offset = (outer * SRC_SIZE + row) * INNER + across;
        VALUE w = weight(index, tap);
        if (QUADS) {
            VALUE4 quad = load_quad(offset);
            [[unroll]] for (uint n = 0u; n < 4u; ++n) {
                sums[n] = added(sums[n], w, quad[n], SHIFTS);
            }
        } else {
            sums.x = added(sums.x, w, load(offset), SHIFTS);
        }
    }
    uint offset = (outer * DST_SIZE + index) * INNER + across;
    if (QUADS) {
        [[unroll]] for (uint n = 0u; n < 4u; ++n) {
            sums[n] = settled(sums[n], SHIFTS);
        }
        store_quad(offset, sums);
    } else {
        dst[offset] = bits_of(settled(sums.x, SHIFTS));
    }
}

#endif
