// Resamples along one axis with many taps, loading four elements of the source at a time.
//
// ALONG: the four elements are taps of one output pixel, in ROWS rows, which share the weights. A pixel is one element, or CHANNELS
//   elements side by side: four pixels of three channels are three loads.
// Otherwise they are neighbours along axis 0, which share their weights. The last four of a row may overlap the four before it.
// ALIGNED: loads and stores are whole fours. Otherwise fours are assembled from words, which takes about twice as long.
// FIXED: sums of integers, see taps.glsl.
// The results have the same bits as those of resample.comp, except for the sign of NaN, which a compiler may choose.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 128) in;

layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 0) readonly buffer Src2 { uvec2 src2[]; };
layout(std430, binding = 0) readonly buffer Src4 { uvec4 src4[]; };
layout(std430, binding = 1) buffer Dst { uint dst[]; };
layout(std430, binding = 1) buffer Dst2 { uvec2 dst2[]; };
layout(std430, binding = 1) buffer Dst4 { uvec4 dst4[]; };
layout(std430, binding = 2) readonly buffer Parameters { uvec4 parameters[]; };
layout(std430, binding = 2) readonly buffer Words { uint words[]; };  // the same buffer as words: tables
layout(std430, binding = 2) readonly buffer Pairs { uvec2 pairs[]; };  // and as pairs (scale, zero point)

layout(constant_id = 7) const uint TAP_AXIS = 0;
layout(constant_id = 8) const bool ALIGNED = true;
#ifdef ALONG
layout(constant_id = 9) const uint ROW_AXIS = 0;  // an axis without a table
layout(constant_id = 10) const uint CHANNELS = 1;  // 1 to 4
layout(constant_id = 11) const uint CHANNEL_AXIS = 0;  // the axis of channels, if there are more than one
layout(constant_id = 12) const uint ROWS = 8;  // rows that an invocation makes, 1 to 8
#endif

#define PUSH_BLOCKS
#include "scales.glsl"
#include "taps.glsl"

uint src_offset;
uvec2 pair_offset;
uint taps, tap_stride, table_row;

#define VISIT_AXIS(k) \
    if (k == TAP_AXIS) { \
        taps = SLOT(k) >> 2; \
        tap_stride = SRC(k); \
        table_row = TABLE(k) + coordinate * rows_of_taps(taps); \
        src_offset += words[4 * table_row + taps]; \
    } else { \
        src_offset += coordinate * SRC(k); \
    } \
    if (has(SRC_PAIRS | DST_PAIRS)) { \
        pair_offset += coordinate * PAIRS(k); \
    }
#include "axes.glsl"

// Four elements that may begin in the middle of a word, shifted to begin at a word. Reads only words that hold some of them.
// Bytes 6 to 9: the upper half of word 1 and the lower half of word 2. GLSL leaves a shift by 32 undefined, hence the case of 0.
uvec2 words_at(uint offset) {
    uint lanes = 32u / SRC_WIDTH;
    uint first = offset / lanes;
    uint last = (offset + 3u) / lanes;
    uint shift = offset % lanes * SRC_WIDTH;
    uvec2 low = uvec2(src[first], src[min(first + 1u, last)]);
    uvec2 high = uvec2(low.y, src[last]);
    return shift == 0u ? low : low >> shift | high << (32u - shift);
}

// The numbers of four elements side by side.
FOUR_NUMBERS four_at(uint offset) {
    uvec4 bits;
    if (SRC_WIDTH == 32u) {
        bits = ALIGNED ? src4[offset / 4u] : uvec4(src[offset], src[offset + 1u], src[offset + 2u], src[offset + 3u]);
    } else if (SRC_WIDTH == 16u) {
        bits = (ALIGNED ? src2[offset / 4u] : words_at(offset)).xxyy >> uvec4(0u, 16u, 0u, 16u) & 0xFFFFu;
    } else {
        bits = uvec4(ALIGNED ? src[offset / 4u] : words_at(offset).x) >> uvec4(0u, 8u, 16u, 24u) & 0xFFu;
    }
    FOUR_NUMBERS four;
    [[unroll]] for (uint n = 0u; n < 4u; ++n) {
        four[n] = number_of(uvec2(bits[n], 0u));
    }
    return four;
}

uint old_word(uint word) { return dst[word]; }

#include "blocks.glsl"

#ifdef ALONG

const uint MOST_ROWS = 8;
const uint MOST_CHANNELS = 4;

uint row_src, row_dst, row_count, channel_dst;
uvec2 row_pairs, channel_pairs;

// Pieces are numbered along the axis of the taps first, then by blocks of rows, then along the other axes.
#define VISIT_PIECE(k) \
    IF_AXIS(k) { \
        if (k == ROW_AXIS) { \
            row_src = SRC(k); \
            row_dst = DST(k); \
            row_count = SIZE(k); \
            row_pairs = PAIRS(k); \
        } else if (CHANNELS > 1u && k == CHANNEL_AXIS) { \
            channel_dst = DST(k); \
            channel_pairs = PAIRS(k); \
        } else { \
            uint rest = k == TAP_AXIS ? 0u : DIVIDE_BY_SIZE(outer, k); \
            uint coordinate = k == TAP_AXIS ? piece : outer - rest * SIZE(k); \
            dst_offset += coordinate * DST(k); \
            VISIT_AXIS(k) \
            outer = k == TAP_AXIS ? outer : rest; \
        } \
    }

uint offsets[MOST_ROWS];
NUMBER sums[MOST_ROWS][MOST_CHANNELS];
NUMBER lost_of_sums[MOST_ROWS][MOST_CHANNELS];
uint weights_of_sums;

void add_four(uint four) {
    FOUR_NUMBERS weights = weights_of(parameters[table_row + four]);
    if (is_long(0u)) {
        [[unroll]] for (uint tap = 0u; tap < 4u; ++tap) {
            weights_of_sums += weights[tap] == 0 ? 0u : 1u;
        }
    }
    [[unroll]] for (uint n = 0u; n < ROWS; ++n) {
        FOUR_NUMBERS run[MOST_CHANNELS];
        [[unroll]] for (uint part = 0u; part < MOST_CHANNELS; ++part) {
            if (part < CHANNELS) {
                run[part] = four_at(offsets[n] + 4u * (four * CHANNELS + part));
            }
        }
        [[unroll]] for (uint channel = 0u; channel < MOST_CHANNELS; ++channel) {
            if (channel < CHANNELS) {
                precise NUMBER sum = sums[n][channel];
                precise NUMBER lost_of_sum = lost_of_sums[n][channel];
                [[unroll]] for (uint tap = 0u; tap < 4u; ++tap) {
                    uint element = tap * CHANNELS + channel;
                    NUMBER addend = weighted(0u, weights[tap], run[element / 4u][element % 4u]);
                    precise NUMBER total = sum + addend;
                    if (is_long(0u)) {
                        lost_of_sum = lost_of_sum + lost(sum, addend, total);
                    }
                    sum = total;
                }
                sums[n][channel] = sum;
                lost_of_sums[n][channel] = lost_of_sum;
            }
        }
    }
}

void main() {
    load_axes();
    uvec4 divisors = parameters[1];
    uint number = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (number >= dispatch.pieces) {
        return;
    }
    Place place = place_of(number, divisors);
    uint piece = place.piece;
    uint outer = place.outer;
    uint row = place.block * ROWS;
    src_offset = dispatch.src_base;
    pair_offset = uvec2(dispatch.src_pairs, dispatch.dst_pairs);
    uint dst_offset = dispatch.dst_base;
    FOR_AXES_INWARD_OUT(VISIT_PIECE)

    // Rows past the last repeat its sums and are not written.
    [[unroll]] for (uint n = 0u; n < ROWS; ++n) {
        offsets[n] = src_offset + min(row + n, row_count - 1u) * row_src;
        sums[n] = NUMBER[MOST_CHANNELS](NOTHING, NOTHING, NOTHING, NOTHING);
        lost_of_sums[n] = NUMBER[MOST_CHANNELS](0, 0, 0, 0);
    }
    weights_of_sums = 0u;
    [[dont_unroll]] for (uint four = 0u; four < taps / 4u; ++four) {
        add_four(four);
    }
    [[unroll]] for (uint n = 0u; n < ROWS; ++n) {
        [[unroll]] for (uint channel = 0u; channel < MOST_CHANNELS; ++channel) {
            if (channel < CHANNELS && row + n < row_count) {
                uint at = dst_offset + (row + n) * row_dst + channel * channel_dst;
                uvec2 pairs_at = pair_offset + (row + n) * row_pairs + channel * channel_pairs;
                NUMBER sum = sums[n][channel];
                if (is_long(0u)) {
                    sum = compensated(sum, lost_of_sums[n][channel], weights_of_sums);
                }
                dst[at] = converted_sum(sum, at, pairs_at).x;
            }
        }
    }
}

#else

FOUR_NUMBERS sums, lost_of_sums;
uint weights_of_sums;

void add_tap(NUMBER weight, uint tap) {
    FOUR_NUMBERS values = four_at(src_offset + tap * tap_stride);
    FOUR_NUMBERS addends;
    [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
        addends[lane] = weighted(0u, weight, values[lane]);
    }
    precise FOUR_NUMBERS totals = sums + addends;
    if (is_long(0u)) {
        precise FOUR_NUMBERS all_lost = lost_of_sums + lost(sums, addends, totals);
        lost_of_sums = all_lost;
        weights_of_sums += weight == 0 ? 0u : 1u;
    }
    sums = totals;
}

// Pieces are numbered along axis 0 first, then along the other axes.
#define VISIT_PIECE(k) \
    IF_AXIS(k) { \
        uint rest = k == 0 ? 0u : DIVIDE_BY_SIZE(outer, k); \
        uint coordinate = k == 0 ? along : outer - rest * SIZE(k); \
        dst_offset += coordinate * DST(k); \
        VISIT_AXIS(k) \
        outer = k == 0 ? outer : rest; \
    }

void main() {
    load_axes();
    uvec4 divisors = parameters[1];
    uint number = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (number >= dispatch.pieces) {
        return;
    }
    Place place = place_of(number, divisors);
    uint outer = place.outer;
    // In a row of 10, the last piece is elements 6 to 9; the piece before it makes 6 and 7.
    uint along = min(4u * place.piece, SIZE(0) - 4u);
    uint made_before = 4u * place.piece - along;
    src_offset = dispatch.src_base;
    pair_offset = uvec2(dispatch.src_pairs, dispatch.dst_pairs);
    uint dst_offset = dispatch.dst_base;
    FOR_AXES_INWARD_OUT(VISIT_PIECE)

    sums = FOUR_NUMBERS(NOTHING);
    lost_of_sums = FOUR_NUMBERS(0);
    weights_of_sums = 0u;
    [[dont_unroll]] for (uint tap = 0u; tap < taps; ++tap) {
        add_tap(weight_of(words[4u * table_row + tap]), tap);
    }
    uint bits[4];
    [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
        if (is_long(0u)) {
            sums[lane] = compensated(sums[lane], lost_of_sums[lane], weights_of_sums);
        }
        bits[lane] = converted_sum(sums[lane], dst_offset + lane, pair_offset + lane * PAIRS(0)).x;
    }
    if (DST_WIDTH == 8u) {
        dst[dst_offset / 4u] = bits[0] | bits[1] << 8 | bits[2] << 16 | bits[3] << 24;
    } else if (DST_WIDTH == 16u) {
        dst2[dst_offset / 4u] = uvec2(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16);
    } else if (ALIGNED) {
        dst4[dst_offset / 4u] = uvec4(bits[0], bits[1], bits[2], bits[3]);
    } else {
        [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
            if (lane >= made_before) {
                dst[dst_offset + lane] = bits[lane];
            }
        }
    }
}

#endif
