// Shared by all kernels for boxes of images: walks the axes of the destination to a row of the column table, a row of the row table,
// and the fill of a channel.
//
// Each axis says how far a step moves in both tables; a row of each is read once all axes have been visited.

#include "shared_constants.glsl"
layout(local_size_x = GROUP_SIZE) in;

#include "buffers.glsl"

layout(constant_id = 7) const uint CHANNELS = 1;  // channels of a pixel that an invocation computes: 1 to 4
layout(constant_id = 10) const bool ALL_CHANNELS = false;  // an invocation has all channels, and scales differ only along them
layout(constant_id = 11) const uint ROWS = 1;  // consecutive rows that an invocation computes

#define PUSH_CHANNELS
#include "scales.glsl"
#include "taps.glsl"

uint old_word(uint word) { return 0u; }  // boxes are never added to the destination

// Fields of a range, the last word of a table row; crop_resize.comp describes it.
uint first_inside(uint range) { return range & TAP_BITS; }

uint end_inside(uint range) { return range >> END_BIT & TAP_BITS; }

bool is_inside(uint tap, uint range) { return tap >= first_inside(range) && tap < end_inside(range); }

// axes.glsl says how the parameters become these structs.
struct Header {
    uint rank, fill_at;                // fill_at: index in `words` of the fill of channel 0
    uint column_taps, row_taps;        // of a row of each table
    uint column_table, column_stride;  // first word of the table; source elements from tap to tap
    uint row_table, row_stride;
};

Header header_of(uvec4 first, uvec4 second) {
    return Header(first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w);
}

struct Axis {
    uint size, src_stride, dst_stride, column_step;  // column_step, row_step: how many rows of each table a step moves
    uvec2 divide_by_size, divide_by_dst_stride;
    uint row_step;
    uvec2 pairs;
    uint channel_and_row_step;  // how far a step moves among the channels of fill and, from bit ROW_BIT on, among the rows of a box
};
#define BOXES
#include "axes.glsl"

uvec2 fill_bits(uint channel) {
    uint each = SRC_WIDTH == 64u ? 2u : 1u;
    uint place = header.fill_at + each * channel;
    return uvec2(words[place], each == 2u ? words[place + 1u] : 0u);
}

uint src_offset;
uint channel, row_of_box;  // the first channel, and the first row of the box, that the invocation computes
uvec2 pair_offset;
uvec2 table_row;

void begin_element(Walk walk) {
    src_offset = walk.src;
    pair_offset = walk.pairs;
    channel = walk.channel_and_row & (1u << ROW_BIT) - 1u;
    row_of_box = walk.channel_and_row >> ROW_BIT;
    table_row = walk.table_row;
}

// The scales and zero points of CHANNELS channels. If all invocations share them, load them before divergent code (see axes.glsl).
vec2 src_pairs_of[MAX_CHANNELS];
vec2 dst_pairs_of[MAX_CHANNELS];

void load_pairs(uvec2 first) {
    [[unroll]] for (uint c = 0u; c < CHANNELS; ++c) {
        src_pairs_of[c] = src_pair_at(first.x + c * dispatch.src_pair_lane);
        dst_pairs_of[c] = dst_pair_at(first.y + c * dispatch.dst_pair_lane);
    }
}
