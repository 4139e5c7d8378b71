// Resizes many boxes of images to the same sizes: nested sums of weighted elements, columns first, then the conversion. FIXED: sums
// of integers, see taps.glsl.
//
// Columns and rows each have a table, with a row for every output index of every box: output row 5 of 224 in box 2 is row
// 2 * 224 + 5 of its table. So each axis says how far a step moves in both tables, and a row is read once all axes have been
// visited.
// A row of a table is a multiple of four words: the weights of its taps, the source offset of the first tap inside the image, and
// the range of taps inside: the first in the lower half of the word, the one after the last in the upper half. The other taps are
// `fill` of their channel. Two taps, the second one inside the image: w0, w1, offset of the second, 1 | 2 << 16. The offset may be
// read even if no tap is inside, so every load is safe, and fill is selected after it. Two flags are added to the range: HELD, all
// taps read the first one's element; and IS_FILL, elements are `fill` itself, not a sum.
// A table without weights has rows of two words and one tap, which is moved. The table of rows has no weights if there is one slot;
// both tables have none if there is no slot.
//
// For elements of 32 bits, an invocation computes up to four channels in up to ROWS rows. FIXED to bytes: the channels share one
// word, whose other bytes belong to no element.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

layout(constant_id = 8) const uint TAPS = 0;  // taps of every row of both tables, 2 or 4; 0: the header has their number
layout(constant_id = 9) const uint PIXELS = 0;  // how pixels are stored in the source: PIXELS_... in shared_constants.glsl
layout(constant_id = 12) const bool CHANNELS_BACKWARDS = false;  // the first channel is the last byte of a pixel

// With two taps and integers, every product can be added without the test for a weight of zero (taps.glsl): linear weights are never
// negative, and integers are never -0.0 or infinite.
#define ALL_ADD (TAPS == 2u && is_integer(SRC_TYPE))
#define SHIFTED_SLOT 1u  // integers that are summed along one axis only are not shifted before the sum
#include "crops.glsl"
#include "elements.glsl"
#include "destination.glsl"

const uint LINES = SLOTS == 1u && BITS == 32u ? ROWS : 1u;  // source rows that one pass over the columns sums
const uint TOGETHER = TAPS == 2u ? 2u : TAPS == 4u || PIXELS == PIXELS_ADJACENT ? 4u : 1u;  // taps that are loaded at once

// A row of a table, as the kernel has loaded it.

struct TableRow {
    uint at;  // word of the first weight
    uvec4 begin;  // the row's first four words, loaded if TAPS is set
    uint offset, range;
};

TableRow row_of(uint table, uint number, uint count, bool has_weights) {
    TableRow row;
    if (!has_weights) {
        row.at = table + 2u * number;
        uvec2 others = pairs[row.at / 2u];
        row.offset = others.x;
        row.range = others.y;
        return row;
    }
    row.at = table + number * (count + 5u & ~3u);
    if (TAPS == 0u) {
        row.offset = words[row.at + count];
        row.range = words[row.at + count + 1u];
        return row;
    }
    row.begin = parameters[row.at / 4u];
    uvec2 others = TAPS == 2u ? row.begin.zw : parameters[row.at / 4u + 1u].xy;
    row.offset = others.x;
    row.range = others.y;
    return row;
}

// How many steps `tap` is from the first tap inside the image. A tap outside counts as the nearest tap inside.
uint steps_to(uint tap, uint range) {
    uint first = first_inside(range), end = max(end_inside(range), first + 1u);
    return (range & HELD) != 0u ? 0u : clamp(tap, first, end - 1u) - first;
}

// Four weights from `tap` on; zeros after the last weight.
FOUR_NUMBERS weights_from(TableRow row, uint tap, uint count) {
    if (TAPS != 0u) {
        return weights_of(row.begin);
    }
    if (TOGETHER == 1u) {
        return FOUR_NUMBERS(weight_of(words[row.at + tap]));
    }
    uvec4 left = uvec4(count - tap);
    return weights_of(mix(uvec4(0u), parameters[(row.at + tap) / 4u], greaterThan(left, uvec4(0u, 1u, 2u, 3u))));
}

// Loads of source elements; fill replaces those outside of the image.

FOUR_NUMBERS fill;  // for each channel of this invocation

FOUR_NUMBERS fill_of_channels(uint first) {
    FOUR_NUMBERS channels = FOUR_NUMBERS(0);
    for (uint c = 0u; c < CHANNELS; ++c) {
        channels[c] = number_of(fill_bits(first + c));
    }
    return channels;
}

FOUR_NUMBERS channels_of(uint bytes) {
    FOUR_NUMBERS channels = FOUR_NUMBERS(0);
    [[unroll]] for (uint c = 0u; c < CHANNELS; ++c) {
        channels[c] = number_of(uvec2(bytes >> 8u * (CHANNELS_BACKWARDS ? CHANNELS - 1u - c : c) & 0xFFu, 0u));
    }
    return channels;
}

FOUR_NUMBERS pixel_at(uint offset) {
    if (PIXELS == PIXELS_IN_WORDS) {
        return channels_of(src[offset / 4u]);
    }
    if (PIXELS != PIXELS_APART) {
        uint last = (offset + CHANNELS - 1u) / 4u;
        return channels_of(funnel(src[offset / 4u], src[last], offset % 4u * 8u));
    }
    FOUR_NUMBERS channels = FOUR_NUMBERS(0);
    for (uint c = 0u; c < CHANNELS; ++c) {
        channels[c] = number_of(load_src(offset + c * dispatch.lane_stride));
    }
    return channels;
}

// Pixel n of adjacent pixels that begin at run[0]: with three channels, pixel 1 is byte 3 of run[0] and bytes 0 and 1 of run[1].
FOUR_NUMBERS pixel_of(uint run[4], uint n) {
    uint byte = n * CHANNELS;
    return channels_of(funnel(run[byte / 4u], run[min(byte / 4u + 1u, 3u)], byte % 4u * 8u));
}

// Sums along columns, then along rows.

TableRow column;
uint begins[MAX_ROWS_OF_BOX];  // for each line, the source offset of the first tap inside the image
bool has_line[MAX_ROWS_OF_BOX];  // the line is a row of the image; otherwise its elements are fill
uint words_before[MAX_ROWS_OF_BOX];  // with PIXELS_ADJACENT: the word that each line loaded last
QuadSum sums[MAX_ROWS_OF_BOX];
uint weight_count;  // number of column taps with a nonzero weight, as taps.glsl counts them

void add_taps(uint n, uint tap, FOUR_NUMBERS weights) {
    uint run[4] = uint[4](0u, 0u, 0u, 0u);
    if (PIXELS == PIXELS_ADJACENT) {
        // Byte offsets are relative to the word of the first tap inside; only words that hold taps inside are read.
        uint inside = max(end_inside(column.range), first_inside(column.range) + 1u) - first_inside(column.range);
        int last = int((begins[n] % 4u + inside * CHANNELS - 1u) / 4u);
        int byte = int(begins[n] % 4u) + (int(tap) - int(first_inside(column.range))) * int(CHANNELS);
        [[unroll]] for (uint part = 0u; part < 4u; ++part) {
            if (4u * part < TOGETHER * CHANNELS) {
                uint next = src[begins[n] / 4u + uint(clamp((byte >> 2) + int(part) + 1, 0, last))];
                run[part] = funnel(words_before[n], next, uint(byte & 3) * 8u);
                words_before[n] = next;
            }
        }
    }
    [[unroll]] for (uint k = 0u; k < TOGETHER; ++k) {
        FOUR_NUMBERS values;
        if (PIXELS == PIXELS_ADJACENT) {
            values = pixel_of(run, k);
        } else {
            values = pixel_at(begins[n] + steps_to(tap + k, column.range) * header.column_stride);
        }
        add(sums[n], 0u, weighted(0u, weights[k], has_line[n] && is_inside(tap + k, column.range) ? values : fill));
    }
}

// The sums along the columns of LINES source rows.
void sum_lines() {
    uint count = TAPS != 0u ? TAPS : header.column_taps;
    weight_count = 0u;
    [[unroll]] for (uint n = 0u; n < MAX_ROWS_OF_BOX; ++n) {
        if (n < LINES) {
            sums[n] = NO_QUAD_SUM;
            words_before[n] = PIXELS == PIXELS_ADJACENT ? src[begins[n] / 4u] : 0u;
        }
    }
    for (uint tap = 0u; tap < count; tap += TOGETHER) {
        FOUR_NUMBERS weights = weights_from(column, tap, count);
        [[unroll]] for (uint k = 0u; k < TOGETHER; ++k) {
            weight_count += counted(0u, weights[k]);
        }
        [[unroll]] for (uint n = 0u; n < MAX_ROWS_OF_BOX; ++n) {
            if (n < LINES) {
                add_taps(n, tap, weights);
            }
        }
    }
}

// The sum of an output row along columns and rows.
FOUR_NUMBERS nested_sum(TableRow line) {
    uint count = TAPS != 0u ? TAPS : header.row_taps;
    QuadSum sum = NO_QUAD_SUM;
    uint line_count = 0u;
    for (uint y = 0u; y < count; ++y) {
        begins[0] = src_offset + line.offset + steps_to(y, line.range) * header.row_stride;
        has_line[0] = is_inside(y, line.range);
        sum_lines();
        NUMBER weight = weight_of(TAPS != 0u ? line.begin[y] : words[line.at + y]);
        add(sum, 1u, weighted(1u, weight, result(sums[0], 0u, weight_count)));
        line_count += counted(1u, weight);
    }
    return result(sum, 1u, line_count);
}

// Stores to the destination.

TableRow line_of(uint below) { return row_of(header.row_table, table_row.y + below, header.row_taps, SLOTS == 2u); }

void find_column() {
    column = row_of(header.column_table, table_row.x, header.column_taps, SLOTS != 0u);
    src_offset += column.offset;
    if (!ALL_CHANNELS) {
        fill = fill_of_channels(channel);
    }
}

bool is_fill(TableRow line) { return ((column.range | line.range) & IS_FILL) != 0u; }

// The bits of channel `c` of an element that is moved.
uvec2 moved_bits(TableRow line, uint c) {
    bool has_element = !is_fill(line) && is_inside(0u, column.range) && is_inside(0u, line.range);
    uvec2 bits = load_src(src_offset + line.offset + c * dispatch.lane_stride);
    return has_element ? bits : fill_bits(channel + c);
}

uvec2 converted_channel(FOUR_NUMBERS sum, TableRow line, uint c) {
    vec2 src_pair = src_pairs_of[c], dst_pair = dst_pairs_of[c];
    if (!ALL_CHANNELS) {
        src_pair = src_pair_at(pair_offset.x + c * dispatch.src_pair_lane);
        dst_pair = dst_pair_at(pair_offset.y + c * dispatch.dst_pair_lane);
    }
#ifdef FIXED
    int number = is_fill(line) ? fill[c] : number_of_sum(sum[c]);
    if (STEPS == 0u && is_integer(DST_TYPE)) {
        return integer_of_integer(uvec2(uint(number), 0u), S32, DST_TYPE, (ROUNDING & SATURATES) != 0u);
    }
    return converted_f32(floatBitsToUint(float(number)), uvec2(0u), src_pair, dst_pair);
#else
    if (SLOTS != 0u) {
        return converted_f32(bits_of_sum(is_fill(line) ? fill[c] : sum[c]), uvec2(0u), src_pair, dst_pair);
    }
    uvec2 bits = moved_bits(line, c);
    return STEPS == 0u && SRC_TYPE == DST_TYPE ? bits : converted(bits, uvec2(0u), src_pair, dst_pair);
#endif
}

void write_pixel(uint offset, FOUR_NUMBERS sum, TableRow line) {
    uint word = 0u;
    [[unroll]] for (uint c = 0u; c < CHANNELS; ++c) {
        uint bits = converted_channel(sum, line, c).x;
        if (DST_WIDTH == 8) {
            word |= (bits & 0xFFu) << 8u * c;
        } else {
            dst[offset + c * dispatch.lane_dst] = bits;
        }
    }
    if (DST_WIDTH == 8) {
        dst[offset] = word;
    }
}

uvec2 element_bits(Walk walk) {
    begin_element(walk);
    find_column();
    TableRow line = line_of(0u);
    FOUR_NUMBERS sum = FOUR_NUMBERS(0);
    if (SLOTS == 2u) {
        sum = nested_sum(line);
    } else if (SLOTS == 1u) {
        begins[0] = src_offset + line.offset;
        has_line[0] = is_inside(0u, line.range);
        sum_lines();
        sum = result(sums[0], 0u, weight_count);
    }
    return converted_channel(sum, line, 0u);
}

// Writes up to ROWS rows of one column of a box. With ROWS 4 and a box of 7 rows, an invocation that begins at row 4 writes rows 4
// to 6: with three channels, nine elements.
void write_rows(uint piece) {
    if (piece >= dispatch.pieces) {
        return;
    }
    Walk walk = walk_to(piece);
    begin_element(walk);
    uint dst_offset = walk.dst;
    find_column();
    uint count = min(ROWS, dispatch.box_rows - row_of_box);
    if (SLOTS != 1u) {
        for (uint below = 0u; below < count; ++below) {
            TableRow line = line_of(below);
            write_pixel(dst_offset, SLOTS == 0u ? FOUR_NUMBERS(0) : nested_sum(line), line);
            dst_offset += dispatch.row_dst;
        }
        return;
    }
    TableRow lines[MAX_ROWS_OF_BOX];
    [[unroll]] for (uint n = 0u; n < MAX_ROWS_OF_BOX; ++n) {
        if (n < ROWS) {
            lines[n] = line_of(min(n, count - 1u));
            begins[n] = src_offset + lines[n].offset;
            has_line[n] = is_inside(0u, lines[n].range);
        }
    }
    sum_lines();
    [[unroll]] for (uint n = 0u; n < MAX_ROWS_OF_BOX; ++n) {
        if (n < ROWS) {
            if (n < count) {
                write_pixel(dst_offset + n * dispatch.row_dst, result(sums[n], 0u, weight_count), lines[n]);
            }
        }
    }
}

void main() {
    load_axes();
    header = header_of(parameters[0], parameters[1]);
    if (ALL_CHANNELS) {
        fill = SLOTS == 0u ? FOUR_NUMBERS(0) : fill_of_channels(0u);
        load_pairs(uvec2(dispatch.src_pairs, dispatch.dst_pairs));
    }
    uint piece = invocation_number();
    if (BITS == 32u) {
        write_rows(piece);
    } else {
        write_piece(piece);
    }
}
