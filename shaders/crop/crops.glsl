// Shared by all kernels for boxes of images: walks the axes of the destination to a row of the column table, a row of the row table,
// and the fill of a channel.
//
// Each axis says how far a step moves in both tables (TABLE_STEPS); a row of each is read once all axes have been visited.

#include "shared_constants.glsl"
layout(local_size_x = GROUP_SIZE) in;

#include "buffers.glsl"

layout(constant_id = 7) const uint CHANNELS = 1;  // channels of a pixel that an invocation computes: 1 to 4
layout(constant_id = 10) const bool ALL_CHANNELS = false;  // all channels are these CHANNELS; no other axis changes the scales
layout(constant_id = 11) const uint ROWS = 1;  // consecutive rows that an invocation computes

#define PUSH_CHANNELS
#include "scales.glsl"
#include "taps.glsl"

uint old_word(uint word) { return 0u; }  // boxes are never added to the destination

// Fields of a range, the last word of a table row; crop_resize.comp describes it.
uint first_inside(uint range) { return range & TAP_BITS; }

uint end_inside(uint range) { return range >> END_BIT & TAP_BITS; }

bool is_inside(uint tap, uint range) { return tap >= first_inside(range) && tap < end_inside(range); }

uint fill_at;  // index in `words` of the fill of channel 0
uvec2 taps, strides, tables;  // for columns (x) and rows (y): taps of a row, source elements from tap to tap, the table's first word

void load_header() {
    uvec4 counts = parameters[0];
    uvec4 places = parameters[1];
    fill_at = counts.y;
    taps = counts.zw;
    tables = places.xz;
    strides = places.yw;
}

uvec2 fill_bits(uint channel) {
    uint each = SRC_WIDTH == 64u ? 2u : 1u;
    uint place = fill_at + each * channel;
    return uvec2(words[place], each == 2u ? words[place + 1u] : 0u);
}

uint src_offset;
uint channel_and_row;  // the first element's channel in the lower half, its row in the box in the upper half
uvec2 pair_offset;
uvec2 table_row;

#define BOXES
#include "axes.glsl"

void begin_element(Walk walk) {
    src_offset = walk.src;
    pair_offset = walk.pairs;
    channel_and_row = walk.channel_and_row;
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
