// Resamples along one axis with many taps, loading four elements of the source at a time.
//
// ALONG: the four elements are taps of one output pixel, in ROWS rows, which share the weights. A pixel is one element, or CHANNELS
//   elements side by side: four pixels of three channels are three loads.
// Otherwise the four elements are neighbours along axis 0, which share their weights. The last quad of a row may overlap the quad
//   before it.
// WHOLE_QUADS: loads and stores are whole quads. Otherwise quads are assembled from words, which takes about twice as long.
// FIXED: sums of integers, see taps.glsl.
// The results have the same bits as those of resample.comp, except for the sign of NaN, which a compiler may choose.
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

layout(constant_id = 7) const uint TAP_AXIS = 0;
layout(constant_id = 8) const bool WHOLE_QUADS = true;
#ifdef ALONG
layout(constant_id = 9) const uint ROW_AXIS = 0;  // an axis without a table
layout(constant_id = 10) const uint CHANNELS = 1;  // 1 to 4
layout(constant_id = 11) const uint CHANNEL_AXIS = 0;  // the axis of channels, if there are more than one
layout(constant_id = 12) const uint ROWS = 8;  // rows that an invocation computes, 1 to 8
#endif

#ifdef ALONG
#define SKIPPED_AXES (1u << TAP_AXIS | 1u << ROW_AXIS | uint(CHANNELS > 1u) << CHANNEL_AXIS)
#else
#define SKIPPED_AXES 1u
#endif
#define TABLES
#include "axes.glsl"
#include "blocks.glsl"

uint table_row;

uint src_along(uint k, uint coordinate) {
    if (k != TAP_AXIS) {
        return coordinate * axes[k].src_stride;
    }
    uint taps = axes[k].slot >> 2;
    table_row = axes[k].table + coordinate * rows_of_taps(taps);
    return words[4u * table_row + taps];
}

// Loads four adjacent elements as numbers.
FOUR_NUMBERS quad_at(uint offset) {
    uvec4 bits = WHOLE_QUADS ? load_quad(offset, SRC_WIDTH) : load_quad_anywhere(offset, SRC_WIDTH);
    FOUR_NUMBERS quad;
    [[unroll]] for (uint n = 0u; n < 4u; ++n) {
        quad[n] = number_of(uvec2(bits[n], 0u));
    }
    return quad;
}

uint old_word(uint word) { return dst[word]; }

#ifdef ALONG


uint offsets[MAX_ROWS];
Sum sums[MAX_ROWS][MAX_CHANNELS];
uint weight_count;

void add_quad(uint quad) {
    FOUR_NUMBERS weights = weights_of(parameters[table_row + quad]);
    [[unroll]] for (uint tap = 0u; tap < 4u; ++tap) {
        weight_count += counted(0u, weights[tap]);
    }
    [[unroll]] for (uint n = 0u; n < ROWS; ++n) {
        FOUR_NUMBERS run[MAX_CHANNELS];
        [[unroll]] for (uint part = 0u; part < MAX_CHANNELS; ++part) {
            if (part < CHANNELS) {
                run[part] = quad_at(offsets[n] + 4u * (quad * CHANNELS + part));
            }
        }
        [[unroll]] for (uint channel = 0u; channel < MAX_CHANNELS; ++channel) {
            if (channel < CHANNELS) {
                [[unroll]] for (uint tap = 0u; tap < 4u; ++tap) {
                    uint element = tap * CHANNELS + channel;
                    add(sums[n][channel], 0u, weighted(0u, weights[tap], run[element / 4u][element % 4u]));
                }
            }
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
    Walk walk = walk_to(place.outer);
    move_along(walk, TAP_AXIS, place.piece);
    uint row = place.block * ROWS;
    // Rows after the last one repeat the last row's sums and are not written.
    [[unroll]] for (uint n = 0u; n < ROWS; ++n) {
        offsets[n] = walk.src + min(row + n, axes[ROW_AXIS].size - 1u) * axes[ROW_AXIS].src_stride;
        sums[n] = Sum[MAX_CHANNELS](NO_SUM, NO_SUM, NO_SUM, NO_SUM);
    }
    weight_count = 0u;
    uint quads = axes[TAP_AXIS].slot >> 4;
    [[dont_unroll]] for (uint quad = 0u; quad < quads; ++quad) {
        add_quad(quad);
    }
    [[unroll]] for (uint n = 0u; n < ROWS; ++n) {
        [[unroll]] for (uint channel = 0u; channel < MAX_CHANNELS; ++channel) {
            if (channel < CHANNELS && row + n < axes[ROW_AXIS].size) {
                uint at = walk.dst + (row + n) * axes[ROW_AXIS].dst_stride + channel * axes[CHANNEL_AXIS].dst_stride;
                uvec2 pairs_at = walk.pairs + (row + n) * axes[ROW_AXIS].pairs + channel * axes[CHANNEL_AXIS].pairs;
                dst[at] = converted_sum(result(sums[n][channel], 0u, weight_count), at, pairs_at).x;
            }
        }
    }
}

#else

void main() {
    load_axes();
    uint number = invocation_number();
    if (number >= dispatch.pieces) {
        return;
    }
    Place place = place_of(number);
    // In a row of 10, the last piece is elements 6 to 9; the piece before it computes 6 and 7.
    uint along = min(4u * place.piece, axes[0].size - 4u);
    uint computed_before = 4u * place.piece - along;
    Walk walk = walk_to(place.outer);
    move_along(walk, 0u, along);

    QuadSum sums = NO_QUAD_SUM;
    uint weight_count = 0u;
    uint taps = axes[TAP_AXIS].slot >> 2;
    [[dont_unroll]] for (uint tap = 0u; tap < taps; ++tap) {
        NUMBER weight = weight_of(words[4u * table_row + tap]);
        FOUR_NUMBERS values = quad_at(walk.src + tap * axes[TAP_AXIS].src_stride);
        FOUR_NUMBERS addends;
        [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
            addends[lane] = weighted(0u, weight, values[lane]);
        }
        add(sums, 0u, addends);
        weight_count += counted(0u, weight);
    }
    FOUR_NUMBERS totals = result(sums, 0u, weight_count);
    uvec4 quad;
    [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
        quad[lane] = converted_sum(totals[lane], walk.dst + lane, walk.pairs + lane * axes[0].pairs).x;
    }
    if (WHOLE_QUADS || DST_WIDTH < 32u) {
        store_quad(walk.dst, quad, DST_WIDTH);
    } else {
        [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
            if (lane >= computed_before) {
                dst[walk.dst + lane] = quad[lane];
            }
        }
    }
}

#endif
