// Many boxes of images, each resized to the same sizes: nested sums of weighted elements, columns first, then the conversion.
//
// Columns and rows have a table each, a row for every output index of every box: box 2, output row 5 of 224 is row 2 * 224 + 5 of
// its table. So each axis says how far a step moves in both tables (TABLE_STEPS), and a row is read when all axes were visited.
// A row of a table is, in whole fours of words, the weights of its taps, the source offset of the first, and which taps lie inside
// the image: the first of them and, in the upper half, the one behind the last. The others are `fill`, by channel. A row that is
// ALL_FILL makes elements that are `fill` and no sum. Two taps, of which the image has the second: w0, w1, offset, 1 | 2 << 16.
// Without slots a row has no weights, is two words, and an element is moved, and converted.
// The header has what follows the number of axes, of columns (x) and rows (y): see load_header.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(constant_id = 8) const uint TAPS = 0;  // of every row of both tables, 2 or 4; 0: as the header says
layout(constant_id = 9) const bool BYTES = false;  // channels are bytes that lie side by side in the source

#include "crops.glsl"
#include "elements.glsl"
#include "destination.glsl"

// The fill of all channels, loaded before anything that not all invocations do; see axes.glsl.
vec4 fill_of_all;

// Words of a row: two without weights; else the weights and two more, in whole fours.
uint row_words(uint count) { return SLOTS == 0 ? 2u : count + 5u & ~3u; }

uvec2 fill_of(uint channel) {
    uint each = SRC_WIDTH == 64u ? 2u : 1u;
    uint place = fill_at + each * channel;
    return uvec2(words[place], each == 2u ? words[place + 1u] : 0u);
}

bool is_inside(uint tap, uint range) { return tap >= (range & 0xFFFFu) && tap < range >> 16; }

// What the axes have found: where the weights of columns and rows lie, and which of their taps the image has.
uvec2 row_at;
uvec2 ranges;
uvec4 column, line;  // with so few taps, these rows; of four taps the weights

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

// The row that is so many below the first.
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

// Weights of linear are never below zero, nor are integers -0.0 or infinite: there a tap of weight zero adds nothing by itself.
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

// The elements of neighbouring channels. Three bytes from byte 6 on: the upper half of word 1, and word 2.
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

// The sums of neighbouring channels.
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
    return is_all_fill() ? fill : sums;  // at the end: behind a return, every load costs more
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

// What a channel becomes, by its number among those of the invocation.
uvec2 bits_of_channel(vec4 sums, uint c) {
    vec2 src_pair, dst_pair;
    pairs_of_channel(c, src_pair, dst_pair);
    if (SLOTS != 0) {
        return made_of_f32(bits_of_sum(sums[c]), uvec2(0u), src_pair, dst_pair);
    }
    uvec2 bits = moved_bits(c);
    return STEPS == 0u && SRC_TYPE == DST_TYPE ? bits : made_of(bits, uvec2(0u), src_pair, dst_pair);
}

vec4 sums_if_any() { return SLOTS == 0 ? vec4(0.0) : sums_of_channels(); }

uvec2 element_bits(uint dst_offset) {
    find_column();
    find_line(0u);
    return bits_of_channel(sums_if_any(), 0u);
}

// Rows 4 to 6 of 7, of three channels: nine elements.
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
