// Resizes many boxes of images to the same sizes: nested sums of weighted elements, columns first, then the conversion.
//
// Columns and rows each have a table, with a row for every output index of every box: output row 5 of 224 in box 2 is row
// 2 * 224 + 5 of its table. So each axis says how far a step moves in both tables (TABLE_STEPS), and a row is read once all axes
// have been visited.
// A row of a table is a multiple of four words: the weights of its taps, the source offset of the first tap, and the range of taps
// inside the image: the first in the lower half of the word, the one after the last in the upper half. The other taps are `fill` of
// their channel. Two taps, the second one inside the image: w0, w1, offset, 1 | 2 << 16. If the last word is ALL_FILL, the elements
// are `fill` itself, not a sum.
// Without slots a row has no weights and is two words; an element is moved and converted.
// load_header reads the rest of the header, for columns (x) and rows (y).
#version 450
#extension GL_GOOGLE_include_directive : require

layout(constant_id = 8) const uint TAPS = 0;  // taps of every row of both tables, 2 or 4; 0: the header has their number
layout(constant_id = 9) const bool BYTES = false;  // the channels of a pixel are adjacent bytes of the source

#include "crops.glsl"
#include "elements.glsl"
#include "destination.glsl"

// The fill of all channels, loaded before divergent code; see axes.glsl.
vec4 fill_of_all;

// Words of a table row of `count` taps: two without weights; otherwise the weights and two more, rounded up to a multiple of four.
uint row_words(uint count) { return SLOTS == 0 ? 2u : count + 5u & ~3u; }

uvec2 fill_of(uint channel) {
    uint each = SRC_WIDTH == 64u ? 2u : 1u;
    uint place = fill_at + each * channel;
    return uvec2(words[place], each == 2u ? words[place + 1u] : 0u);
}

bool is_inside(uint tap, uint range) { return tap >= (range & 0xFFFFu) && tap < range >> 16; }

// The current table rows of columns (x) and rows (y): the word of their first weight, and the range of their taps inside the image.
uvec2 row_at;
uvec2 ranges;
uvec4 column, line;  // with TAPS != 0: the first four words of these rows

void find_column() {
    row_at.x = tables.x + table_row.x * row_words(taps.x);
    if (TAPS != 0u) {
        column = parameters[row_at.x / 4u];
        uvec2 others = TAPS == 2u ? column.zw : parameters[row_at.x / 4u + 1u].xy;
        src_offset += others.x;
        ranges.x = others.y;
    } else {
        uint weights = SLOTS == 0 ? 0u : taps.x;
        src_offset += words[row_at.x + weights];
        ranges.x = words[row_at.x + weights + 1u];
    }
}

uint line_offset;

// Finds the output row that is `below` rows below the first of this invocation.
void find_line(uint below) {
    row_at.y = tables.y + (table_row.y + below) * row_words(taps.y);
    if (TAPS != 0u) {
        line = parameters[row_at.y / 4u];
        uvec2 others = TAPS == 2u ? line.zw : parameters[row_at.y / 4u + 1u].xy;
        line_offset = src_offset + others.x;
        ranges.y = others.y;
    } else {
        uint weights = SLOTS == 0 ? 0u : taps.y;
        line_offset = src_offset + words[row_at.y + weights];
        ranges.y = words[row_at.y + weights + 1u];
    }
}

bool is_all_fill() { return ranges.x == ALL_FILL || ranges.y == ALL_FILL; }

// Weighted elements; weight zero gives NOTHING. Linear weights are never negative and integers never -0.0 or infinite, so their
// products need no test.
vec4 times(float weight, vec4 values) {
    precise vec4 products = weight * values;
    return TAPS == 2u && is_integer(SRC_TYPE) || weight != 0.0 ? products : vec4(NOTHING);
}

vec4 fill_of_channels(uint first) {
    vec4 fill = vec4(0.0);
    for (uint c = 0u; c < CHANNELS; ++c) {
        fill[c] = number_of(fill_of(first + c));
    }
    return fill;
}

// The elements of CHANNELS neighbouring channels. Three bytes from byte 6 on: the upper half of word 1, and a byte of word 2.
vec4 channels_at(uint offset) {
    vec4 values = vec4(0.0);
    uint bytes = 0u;
    if (BYTES) {
        uint shift = offset % 4u * 8u;
        bytes = src[offset / 4u] >> shift;
        if (shift + 8u * CHANNELS > 32u) {
            bytes |= src[offset / 4u + 1u] << 32u - shift;
        }
    }
    for (uint c = 0u; c < CHANNELS; ++c) {
        uvec2 bits = BYTES ? uvec2(bytes >> 8u * c & 0xFFu, 0u) : load_src(offset + c * dispatch.lane_stride);
        values[c] = number_of(bits);
    }
    return values;
}

vec4 all_compensated(vec4 sums, vec4 lost_of_sums, uint weights) {
    vec4 totals = sums;
    for (uint c = 0u; c < CHANNELS; ++c) {
        totals[c] = compensated(sums[c], lost_of_sums[c], weights);
    }
    return totals;
}

// The sums of CHANNELS neighbouring channels.
vec4 sums_of_channels() {
    uvec2 count = TAPS != 0u ? uvec2(TAPS) : taps;
    bool is_whole = ranges.x == count.x << 16 && ranges.y == count.y << 16;
    vec4 fill = vec4(0.0);
    if (ALL_CHANNELS) {
        fill = fill_of_all;
    } else if (!is_whole) {
        fill = fill_of_channels(channel_and_row & 0xFFFFu);
    }
    precise vec4 sums = vec4(NOTHING);
    precise vec4 lost_of_sums = vec4(0.0);
    uint weights_y = 0u;
    for (uint y = 0u; y < count.y; ++y) {
        bool has_row = is_inside(y, ranges.y);
        precise vec4 inner = vec4(NOTHING);
        precise vec4 lost_of_inner = vec4(0.0);
        uint weights_x = 0u;
        for (uint x = 0u; x < count.x; ++x) {
            vec4 values = fill;
            if (has_row && is_inside(x, ranges.x)) {
                values = channels_at(line_offset + x * strides.x + y * strides.y);
            }
            float weight = weight_of(TAPS != 0u ? column[x] : words[row_at.x + x]);
            vec4 addend = times(weight, values);
            precise vec4 total = inner + addend;
            if (is_long(0u)) {
                lost_of_inner = lost_of_inner + lost(inner, addend, total);
                weights_x += weight == 0.0 ? 0u : 1u;
            }
            inner = total;
        }
        float weight = weight_of(TAPS != 0u ? line[y] : words[row_at.y + y]);
        vec4 addend = times(weight, is_long(0u) ? all_compensated(inner, lost_of_inner, weights_x) : inner);
        precise vec4 total = sums + addend;
        if (is_long(1u)) {
            lost_of_sums = lost_of_sums + lost(sums, addend, total);
            weights_y += weight == 0.0 ? 0u : 1u;
        }
        sums = total;
    }
    if (is_long(1u)) {
        sums = all_compensated(sums, lost_of_sums, weights_y);
    }
    return is_all_fill() ? fill : sums;  // selected at the end: after an early return, every load costs more
}

uvec2 moved_bits(uint c) {
    bool is_filled = is_all_fill() || !is_inside(0u, ranges.x) || !is_inside(0u, ranges.y);
    if (is_filled) {
        return fill_of((channel_and_row & 0xFFFFu) + c);
    }
    return load_src(line_offset + c * dispatch.lane_stride);
}

void load_channels() {
    if (ALL_CHANNELS) {
        fill_of_all = SLOTS == 0 ? vec4(0.0) : fill_of_channels(0u);
        load_pairs();
    }
}

// The destination element of channel `c` of this invocation.
uvec2 bits_of_channel(vec4 sums, uint c) {
    vec2 src_pair, dst_pair;
    pairs_of_channel(c, src_pair, dst_pair);
    if (SLOTS != 0) {
        return converted_f32(bits_of_sum(sums[c]), uvec2(0u), src_pair, dst_pair);
    }
    uvec2 bits = moved_bits(c);
    return STEPS == 0u && SRC_TYPE == DST_TYPE ? bits : converted(bits, uvec2(0u), src_pair, dst_pair);
}

vec4 sums_if_any() { return SLOTS == 0 ? vec4(0.0) : sums_of_channels(); }

uvec2 element_bits(uint dst_offset) {
    find_column();
    find_line(0u);
    return bits_of_channel(sums_if_any(), 0u);
}

// Writes up to ROWS rows of one column. Rows 4 to 6 of 7, with three channels: nine elements.
void write_rows(uint piece) {
    if (piece >= dispatch.pieces) {
        return;
    }
    begin_element();
    uint row_begin = visit_index(piece);
    find_column();
    uint row = channel_and_row >> 16;
    uint count = min(ROWS, dispatch.box_rows - row);
    for (uint below = 0u; below < count; ++below) {
        find_line(below);
        vec4 sums = sums_if_any();
        uint dst_offset = row_begin;
        for (uint c = 0u; c < CHANNELS; ++c) {
            dst[dst_offset] = bits_of_channel(sums, c).x;
            dst_offset += dispatch.lane_dst;
        }
        row_begin += dispatch.row_dst;
    }
}

void main() {
    load_axes();
    load_header();
    load_channels();
    uint piece = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (ROWS > 1u || CHANNELS > 1u) {
        write_rows(piece);
    } else {
        write_piece(piece);
    }
}
