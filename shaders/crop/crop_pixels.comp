// Resizes boxes of bytes linearly, for pixels that are side by side in the source, to the same bits as crop_resize.comp. An
// invocation computes four columns in up to ROWS rows.
//
// Both taps of a column are neighbouring pixels, loaded as the two or three words that hold them: with three channels from byte 6
// on, bytes 6 to 11 are in words 1 and 2. Columns close together share words. The column sums of two source rows are kept: in an
// enlarged box, the next output row needs only one new source row, or none.
// The tables are those of crop_resize.comp. The column table of each box is padded to a multiple of four rows; the added rows have
// the range PAST.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

// BY_PIXELS: pixels are adjacent in the destination too; otherwise the columns of each channel are. WHOLE_QUADS: all quads of the
// destination are whole and aligned; otherwise each element is a word.
layout(constant_id = 8) const bool BY_PIXELS = false;
layout(constant_id = 9) const bool WHOLE_QUADS = false;

#include "crops.glsl"
#include "quads.glsl"

const uint FIRST = 1u, SECOND = 2u, BOTH = 3u, IS_PAST = 4u;  // bits that say which of two taps are inside the image

uint fill_bytes;
float fill_of[MAX_CHANNELS];

float channel_of(uint bytes, uint c) { return number_of(uvec2(bytes >> 8u * c & 0xFFu, 0u)); }

// Loads the fill and the pairs of CHANNELS channels, from channel `first` on. If all invocations share them, call it before any
// divergent code; axes.glsl says why.
void load_channels(uint first, uvec2 pairs_at) {
    fill_bytes = 0u;
    [[unroll]] for (uint c = 0u; c < MAX_CHANNELS; ++c) {
        if (c < CHANNELS) {
            fill_bytes |= words[header.fill_at + first + c] << 8u * c;
            fill_of[c] = channel_of(fill_bytes, c);
        }
    }
    load_pairs(pairs_at);
}

uint taps_inside(uint range) { return (is_inside(0u, range) ? FIRST : 0u) | (is_inside(1u, range) ? SECOND : 0u); }

vec2 weights_x[BOX_COLUMNS];
uint offset_x[BOX_COLUMNS];
uint inside_x[BOX_COLUMNS];  // the bits of taps_inside, or IS_PAST; IS_FILL may be added
uint last_byte_x[BOX_COLUMNS];  // the last byte of the taps inside the image, relative to the offset

struct TableRow { vec2 weights; uint offset, range; };  // a row of a table, see crop_resize.comp

TableRow row_of(uvec4 row) { return TableRow(uintBitsToFloat(row.xy), row.z, row.w); }

void load_columns() {
    uint table = header.column_table / 4u + table_row.x;
    [[unroll]] for (uint x = 0u; x < BOX_COLUMNS; ++x) {
        TableRow row = row_of(parameters[table + x]);
        weights_x[x] = row.weights;
        offset_x[x] = row.offset;
        uint inside = taps_inside(row.range);
        last_byte_x[x] = (inside == BOTH ? 2u : 1u) * CHANNELS - 1u;
        if (inside == SECOND) {  // the offset is that of the second tap; the order of a sum of two does not matter
            weights_x[x] = weights_x[x].yx;
            inside = FIRST;
        }
        inside_x[x] = row.range == PAST ? IS_PAST : inside | row.range & IS_FILL;
    }
}

// The first two words loaded for the previous column, and their indices in `src`.
uint low_word, middle_word;
uint low, middle;

// The bytes of two adjacent pixels: the first in x, the second in y. Reads only words that contain bytes up to `last_byte`.
// The word indices go through selects (selected.glsl), which llvmpipe computes for all lanes at once; this saves 5 % of the time.
uvec2 pixels_at(uint offset, uint last_byte) {
    uint low_before = low_word;
    uint middle_before = middle_word;
    uint last = (offset + last_byte) / 4u;
    low_word = offset / 4u;
    middle_word = min(low_word + 1u, last);
    if (low_word == middle_before) {
        low = middle;
    } else if (low_word != low_before) {
        low = src[selected(low_word, offset)];
    }
    if (middle_word != middle_before) {
        middle = src[selected(middle_word, offset)];
    }
    uint high = 0u;
    if (CHANNELS > 2u && last != middle_word) {
        high = src[selected(last, offset)];
    }
    uint shift = offset % 4u * 8u;
    uint one = funnel(low, middle, shift);
    uint next = funnel(middle, high, shift);
    return uvec2(one, CHANNELS == 4u ? next : CHANNELS == 3u ? one >> 24 | next << 8 : one >> 8u * CHANNELS);
}

// The sums along columns for one row of the source, by column and channel.
struct Sums {
    float sums[BOX_COLUMNS * MAX_CHANNELS];
};

Sums line_at(uint offset, bool has_row) {
    Sums line;
    low_word = 0xFFFFFFFFu;  // no word is loaded yet; SwiftShader miscompiles a special case for the first column
    middle_word = 0xFFFFFFFFu;
    [[unroll]] for (uint x = 0u; x < BOX_COLUMNS; ++x) {
        uvec2 pixels = pixels_at(offset + offset_x[x], last_byte_x[x]);
        pixels.x = has_row && (inside_x[x] & FIRST) != 0u ? pixels.x : fill_bytes;
        pixels.y = has_row && (inside_x[x] & SECOND) != 0u ? pixels.y : fill_bytes;
        [[unroll]] for (uint c = 0u; c < MAX_CHANNELS; ++c) {
            if (c < CHANNELS) {
                precise float first = weights_x[x].x * channel_of(pixels.x, c);
                precise float second = weights_x[x].y * channel_of(pixels.y, c);
                precise float sum = first + second;
                line.sums[MAX_CHANNELS * x + c] = sum;
            }
        }
    }
    return line;
}

// Writes the elements of four columns: a quad for each channel, or with BY_PIXELS the channels of one column after another.
void write_line(uint at, uint bits[BOX_COLUMNS * MAX_CHANNELS]) {
    [[unroll]] for (uint k = 0u; k < MAX_CHANNELS; ++k) {
        if (k < CHANNELS) {
            uvec4 quad;
            [[unroll]] for (uint n = 0u; n < 4u; ++n) {
                uint element = 4u * k + n;
                uint column = BY_PIXELS ? element / CHANNELS : n;
                quad[n] = bits[MAX_CHANNELS * column + (BY_PIXELS ? element % CHANNELS : k)];
                if (!WHOLE_QUADS && inside_x[column] != IS_PAST) {
                    dst[at + n] = quad[n];
                }
            }
            if (WHOLE_QUADS) {
                store_quad(at, quad, DST_WIDTH);
            }
            at += BY_PIXELS ? 4u : dispatch.lane_dst;
        }
    }
}

// Writes four columns of up to ROWS rows of a box. With ROWS 4 and a box of 7 rows, an invocation that begins at row 4 writes rows 4
// to 6: with three channels, 36 elements.
void write_lines(uint dst_offset) {
    uint row = row_of_box;
    uint end = min(row + ROWS, dispatch.box_rows);
    uint table = header.row_table / 4u + table_row.y;
    Sums upper, lower;
    uint kept = 0u;  // source offset of the row summed in `lower`
    bool keeps = false;
    // Both loops test at the end of the body, because llvmpipe runs other loops once more with no invocation active. ROWS == 1u
    // shows the compiler that there is no loop: NVK then needs 64 registers instead of 144, because no sums are kept.
    while (true) {
        TableRow line = row_of(parameters[selected(table, row)]);
        ++table;
        uint inside = taps_inside(line.range);
        bool has_both = inside == BOTH;
        uint first = src_offset + line.offset;
        uint second = has_both ? first + header.row_stride : first;
        uint missing = !keeps || !has_both ? 2u : second == kept ? 0u : first == kept ? 1u : 2u;
        kept = second;
        keeps = has_both;
        [[dont_unroll]] while (true) {
            bool is_second = missing < 2u;
            if (missing != 0u) {
                upper = lower;
                lower = line_at(is_second ? second : first, (inside & (is_second ? SECOND : FIRST)) != 0u);
            }
            if (missing < 2u) {
                break;
            }
            --missing;
        }
        uint bits[BOX_COLUMNS * MAX_CHANNELS];
        [[unroll]] for (uint n = 0u; n < BOX_COLUMNS * MAX_CHANNELS; ++n) {
            uint c = n % MAX_CHANNELS;
            if (c < CHANNELS) {
                bool is_fill = ((inside_x[n / MAX_CHANNELS] | line.range) & IS_FILL) != 0u;
                precise float of_upper = line.weights.x * upper.sums[n];
                precise float of_lower = line.weights.y * lower.sums[n];
                precise float sum = of_upper + of_lower;
                uint bits_of_one = floatBitsToUint(is_fill ? fill_of[c] : sum);
                bits[n] = converted_f32(bits_of_one, uvec2(0u), src_pairs_of[c], dst_pairs_of[c]).x;
            }
        }
        write_line(dst_offset, bits);
        dst_offset += dispatch.row_dst;
        if (ROWS == 1u || ++row >= end) {
            break;
        }
    }
}

void main() {
    load_axes();
    header = header_of(parameters[0], parameters[1]);
    if (ALL_CHANNELS) {
        load_channels(0u, uvec2(dispatch.src_pairs, dispatch.dst_pairs));
    }
    uint index = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (index >= dispatch.pieces) {
        return;
    }
    Walk walk = walk_to(index);
    begin_element(walk);
    if (!ALL_CHANNELS) {
        load_channels(channel, pair_offset);
    }
    load_columns();
    write_lines(walk.dst);
}
