// Resizes many boxes of images as libraries resize bytes: sums of integers (FIXED in taps.glsl), then the conversion.
//
// Axes, header and fill are as in crop_resize.comp. Elements of the result are words, or bytes: then the channels of an invocation
// share one word, whose other bytes belong to no element. TAPS chooses the layout of the tables:
//   2: A row of the column table is one `uvec4`: both weights as 16-bit halves, the source offset of the first tap, the weight of
//      fill, the number of taps inside the image. A row of the row table is one too: both weights, the source offset of each tap,
//      and bit n set if tap n is inside the image. Columns are summed first, exactly; then rows, with the shifts of the dispatch.
//   0: The first table is summed with these shifts. Its rows are whole fours of words: the weights, then source offset, weight of
//      fill, weight of all taps, number of taps inside the image. The second table has one tap of weight 1; its rows are two words,
//      the source offset and 1 if the tap is inside the image.
// Taps outside the image are `fill`. In a row with a weight of fill, that is the sum of their weights; the weights of the taps
// inside come first, then zeros, and the number of taps is at least 1. If the last word of a row is ALL_FILL, the elements are
// `fill` itself, not a sum. Every offset is safe to read. A column with weights 3 and 5, only the second tap inside the image, at
// offset 0: 5 | 0 << 16, 0, 3, 1.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

layout(constant_id = 8) const uint TAPS = 0;
layout(constant_id = 9) const uint PIXELS = 0;  // how pixels lie in the source: one of the four constants below
layout(constant_id = 12) const bool BACKWARDS = false;  // the first channel is the last byte of a pixel

const uint ANYWHERE = 0;  // the channels of a pixel are `lane_stride` apart
const uint BYTES = 1;  // they are adjacent bytes
const uint RUN = 2;  // and so are the pixels of the first table's taps
const uint WORD = 3;  // they are bytes of one word, from the lowest on

#include "crops.glsl"

const uint MOST_ROWS = 4;

// The fill of all channels, loaded before divergent code; see axes.glsl.
ivec4 fill;

ivec4 fill_of_channels(uint first) {
    ivec4 channels = ivec4(0);
    for (uint c = 0u; c < CHANNELS; ++c) {
        channels[c] = int(words[fill_at + first + c]);
    }
    return channels;
}

void load_channels() {
    if (ALL_CHANNELS) {
        fill = fill_of_channels(0u);
        load_pairs();
    }
}

// Four bytes from bit `shift` of `low` on; GLSL leaves a shift by 32 undefined, hence the case of 0.
uint joined(uint low, uint high, uint shift) { return shift == 0u ? low : low >> shift | high << 32u - shift; }

const uint FIRST_BYTE = BACKWARDS ? 8u * (CHANNELS - 1u) : 0u;

// The channels of a pixel, in their order. BACKWARDS, three channels are bytes 2, 1 and 0.
ivec4 bytes_of(uint word) {
    uvec4 further = uvec4(0u, 8u, 16u, 24u);
    return ivec4(uvec4(word) >> ((BACKWARDS ? FIRST_BYTE - further : further) & 31u) & 0xFFu);
}

// The channels of the pixel at an offset.
ivec4 pixel_at(uint offset) {
    if (PIXELS == WORD) {
        return bytes_of(src[offset / 4u]);
    }
    if (PIXELS == BYTES || PIXELS == RUN) {
        uint last = (offset + CHANNELS - 1u) / 4u;
        return bytes_of(joined(src[offset / 4u], src[last], offset % 4u * 8u));
    }
    ivec4 pixel = ivec4(0);
    for (uint c = 0u; c < CHANNELS; ++c) {
        uint bits = load_src(offset + c * dispatch.lane_stride).x;
        pixel[c] = SRC_WIDTH == 32u ? int(bits) : int(bits & 0xFFu);
    }
    return pixel;
}

// Pixel n of adjacent pixels that begin at run[0]: with three channels, pixel 1 is byte 3 of run[0] and bytes 0 and 1 of run[1].
ivec4 pixel_of(uint run[4], uint n) {
    uint first = n * CHANNELS;
    return bytes_of(joined(run[first / 4u], run[min(first / 4u + 1u, 3u)], first % 4u * 8u));
}

// Two adjacent pixels; only the first `count` of them, 1 or 2, are inside the image, and no word after these is read.
void two_at(uint offset, uint count, out ivec4 one, out ivec4 other) {
    uint last = (offset + count * CHANNELS - 1u) / 4u;
    uint word = offset / 4u, shift = offset % 4u * 8u;
    uint low = src[word], middle = src[min(word + 1u, last)], high = CHANNELS > 2u ? src[min(word + 2u, last)] : 0u;
    uint run[4] = uint[4](joined(low, middle, shift), joined(middle, high, shift), 0u, 0u);
    one = pixel_of(run, 0u);
    other = pixel_of(run, 1u);
}

int low_half(uint word) { return int(word << 16u) >> 16; }

int high_half(uint word) { return int(word) >> 16; }

// The weighted sum of the taps of a column, in the source row that begins at `offset`.
ivec4 line_sum(uvec4 column, uint offset) {
    uint begin = offset + column.y;
    bool has_both = column.w == 2u;
    ivec4 one, other;
    if (PIXELS == RUN) {
        two_at(begin, has_both ? 2u : 1u, one, other);
    } else {
        one = pixel_at(begin);
        other = pixel_at(has_both ? begin + strides.x : begin);
    }
    return low_half(column.x) * one + high_half(column.x) * other + int(column.z) * fill;
}

ivec4 cut(int weight, ivec4 sum) { return weight * (sum >> shift_of(0u)) >> shift_of(1u); }

uint bits_of(int number, uint c) {
    if (STEPS == 0u && is_integer(DST_TYPE)) {
        return integer_of_integer(uvec2(uint(number), 0u), S32, DST_TYPE, (ROUNDING & SATURATES) != 0u).x;
    }
    vec2 src_pair, dst_pair;
    pairs_of_channel(c, src_pair, dst_pair);
    return converted_f32(floatBitsToUint(float(number)), uvec2(0u), src_pair, dst_pair).x;
}

void write_pixel(uint offset, ivec4 sums, bool is_fill) {
    uint word = 0u;
    [[unroll]] for (uint c = 0u; c < CHANNELS; ++c) {
        int number = is_fill ? fill[c] : number_of_sum(sums[c]);
        if (DST_TYPE == U8) {
            word |= uint(number) << 8u * c;
        } else {
            dst[offset + c * dispatch.lane_dst] = bits_of(number, c);
        }
    }
    if (DST_TYPE == U8) {
        dst[offset] = word;
    }
}

void write_of_two(uint offset, uint rows) {
    uvec4 column = parameters[tables.x / 4u + table_row.x];
    ivec4 all = (low_half(column.x) + high_half(column.x) + int(column.z)) * fill;
    [[unroll]] for (uint n = 0u; n < MOST_ROWS; ++n) {
        if (n < ROWS) {
            uvec4 line = parameters[tables.y / 4u + table_row.y + min(n, rows - 1u)];
            ivec4 upper = line_sum(column, src_offset + line.y), lower = line_sum(column, src_offset + line.z);
            upper = (line.w & 1u) != 0u ? upper : all;
            lower = (line.w & 2u) != 0u ? lower : all;
            ivec4 sum = cut(low_half(line.x), upper) + cut(high_half(line.x), lower);
            if (n < rows) {
                write_pixel(offset + n * dispatch.row_dst, sum, column.w == ALL_FILL || line.w == ALL_FILL);
            }
        }
    }
}

uint offsets[MOST_ROWS];
uint run_words[MOST_ROWS];  // with RUN: the word loaded last
ivec4 sums[MOST_ROWS];

void add_four(uint four, ivec4 weights, uint count) {
    [[unroll]] for (uint n = 0u; n < MOST_ROWS; ++n) {
        if (n < ROWS) {
            if (PIXELS == RUN) {
                uint last = (offsets[n] + count * CHANNELS - 1u) / 4u;
                uint word = offsets[n] / 4u + four * CHANNELS, shift = offsets[n] % 4u * 8u;
                uint run[4] = uint[4](0u, 0u, 0u, 0u);
                [[unroll]] for (uint part = 0u; part < 4u; ++part) {
                    if (part < CHANNELS) {
                        uint next = src[min(word + part + 1u, last)];
                        run[part] = joined(run_words[n], next, shift);
                        run_words[n] = next;
                    }
                }
                [[unroll]] for (uint tap = 0u; tap < 4u; ++tap) {
                    sums[n] += weights[tap] * pixel_of(run, tap);
                }
            } else {
                [[unroll]] for (uint tap = 0u; tap < 4u; ++tap) {
                    sums[n] += weights[tap] * pixel_at(offsets[n] + min(4u * four + tap, count - 1u) * strides.x);
                }
            }
        }
    }
}

void write_of_many(uint offset, uint rows) {
    uint fours = (taps.x + 3u) / 4u;
    uint at = tables.x / 4u + table_row.x * (fours + 1u);
    uvec4 column = parameters[at + fours];
    uint count = column.w == ALL_FILL ? 1u : column.w;
    uint states[MOST_ROWS];
    [[unroll]] for (uint n = 0u; n < MOST_ROWS; ++n) {
        if (n < ROWS) {
            uvec2 line = pairs[tables.y / 2u + table_row.y + min(n, rows - 1u)];
            offsets[n] = src_offset + column.x + line.x;
            states[n] = line.y;
            sums[n] = int(column.y) * fill;
            run_words[n] = PIXELS == RUN ? src[offsets[n] / 4u] : 0u;
        }
    }
    [[dont_unroll]] for (uint four = 0u; four < fours; ++four) {
        add_four(four, ivec4(parameters[at + four]), count);
    }
    [[unroll]] for (uint n = 0u; n < MOST_ROWS; ++n) {
        if (n < ROWS) {
            if (n < rows) {
                ivec4 sum = states[n] == 0u ? int(column.z) * fill : sums[n];
                write_pixel(offset + n * dispatch.row_dst, sum, column.w == ALL_FILL || states[n] == ALL_FILL);
            }
        }
    }
}

void main() {
    load_axes();
    load_header();
    load_channels();
    uint piece = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (piece >= dispatch.pieces) {
        return;
    }
    begin_element();
    uint index = piece;
    uint dst_offset = dispatch.dst_base;
    FOR_COORDINATES_OF_INDEX
    if (!ALL_CHANNELS) {
        fill = fill_of_channels(channel_and_row & 0xFFFFu);
    }
    uint rows = min(ROWS, dispatch.box_rows - (channel_and_row >> 16));
    if (TAPS == 2u) {
        write_of_two(dst_offset, rows);
    } else {
        write_of_many(dst_offset, rows);
    }
}
