// Boxes of images: what the axes of a destination find of the tables of columns and rows, and of fill.
//
// Each axis says how far a step moves in both tables (TABLE_STEPS), and a row of them is read when all axes were visited.
// This file depends on dispatch.glsl and the global declarations of `parameters` and `words`; axes.glsl follows it.

const uint ALL_FILL = 0xFFFFFFFFu;  // the last word of a row that makes fill

uint fill_at;  // place of the fill of channel 0 among `words`
uvec2 taps, strides, tables;  // taps of a row, source elements from tap to tap, the word at which the table starts

void load_header() {
    uvec4 counts = parameters[0];
    uvec4 places = parameters[1];
    fill_at = counts.y;
    taps = counts.zw;
    tables = places.xz;
    strides = places.yw;
}

uint src_offset;
uint channel_and_row;  // of the first element: in the lower half the channel, in the upper one the row of its box
uvec2 pair_offset;
uvec2 table_row;

void begin_element() {
    src_offset = dispatch.src_base;
    pair_offset = uvec2(dispatch.src_pairs, dispatch.dst_pairs);
    channel_and_row = 0u;
    table_row = uvec2(0u);
}

#define TABLE_STEPS(k) uvec2(axis_walk[k].w, axis_more[k].x)
#define CHANNEL_AND_ROW_STEP(k) axis_more[k].w
#define VISIT_AXIS(k) \
    src_offset += coordinate * SRC(k); \
    channel_and_row += coordinate * CHANNEL_AND_ROW_STEP(k); \
    table_row += coordinate * TABLE_STEPS(k); \
    if (has(SRC_PAIRS | DST_PAIRS)) { \
        pair_offset += coordinate * PAIRS(k); \
    }
