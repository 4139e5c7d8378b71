// Copy of rows of 8- or 16-bit elements, neighbours in the destination and STEP apart in the source, four words an invocation.
//
// A flip has STEP -1, a slice [::2] 2, rows that begin in the middle of a word 1.
// What axis 0 counts is chunks of four words, from the word that holds the row's first element on; dispatch.row_size is the
// elements of a row. u8, a row of 21 at offset 30: its chunks are offsets 28 to 43, of which 28 and 29 are not its own, and 44
// to 59, of which those from 51 on are not.
// ALIGNED: rows are whole chunks, and both sides begin at multiples of four words; STEP is -1 or 2.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 128) in;

layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 0) readonly buffer Src4 { uvec4 src4[]; };
layout(std430, binding = 1) buffer Dst { uint dst[]; };
layout(std430, binding = 1) buffer Dst4 { uvec4 dst4[]; };
layout(std430, binding = 2) readonly buffer Parameters { uvec4 parameters[]; };

layout(constant_id = 1) const int STEP = 1;  // -4 to 4, but not 0
layout(constant_id = 2) const bool ALIGNED = false;

const uint CHUNK_WORDS = 4;
const int MOST_APART = 4;
#define MOST_LOADED 17  // 4 * 4, and one more
#define MOST_STORED 4

#define PUSH_CHUNKS
#include "dispatch.glsl"
#include "elements.glsl"
#include "rows.glsl"

const int CHUNK = int(CHUNK_WORDS * LANES);
const int APART = STEP < 0 ? -STEP : STEP;

uint src_offset, chunk;

#define VISIT_AXIS(k) \
    src_offset += coordinate * SRC(k); \
    if (k == 0) { \
        chunk = coordinate; \
    }
#include "axes.glsl"

void load_aligned() {
    [[unroll]] for (int n = 0; n < MOST_APART; ++n) {
        if (n < APART) {
            uvec4 words = src4[src_offset / uint(CHUNK) + uint(n)];
            loaded[4 * n] = words.x;
            loaded[4 * n + 1] = words.y;
            loaded[4 * n + 2] = words.z;
            loaded[4 * n + 3] = words.w;
        }
    }
}

void make_words() {
    [[unroll]] for (int word = 0; word < int(CHUNK_WORDS); ++word) {
        stored[word] = 0u;
        [[unroll]] for (int lane = 0; lane < 4; ++lane) {
            if (lane < int(LANES)) {
                int element = word * int(LANES) + lane;
                int place = STEP < 0 ? APART * (CHUNK - 1 - element) : APART * element;
                stored[word] |= in_lane(loaded_element(0u, uint(place)), uint(lane));
            }
        }
    }
}

void main() {
    load_axes();
    uint index = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (index >= dispatch.pieces) {
        return;
    }
    src_offset = dispatch.src_base;
    uint dst_offset = dispatch.dst_base;
    FOR_COORDINATES_OF_INDEX
    if (ALIGNED) {
        load_aligned();
        make_words();
        dst4[dst_offset / uint(CHUNK)] = uvec4(stored[0], stored[1], stored[2], stored[3]);
        return;
    }
    int outside = int(dst_offset % LANES);
    int first = int(chunk) * CHUNK - outside;  // number in the row, perhaps below 0
    int low = max(-first, 0);
    int high = min(int(dispatch.row_size) - first, CHUNK);
    if (low >= high) {
        return;
    }
    uint origin = src_offset - uint(STEP * outside);
    uint lowest = origin + uint(STEP < 0 ? STEP * (CHUNK - 1) : 0);
    uint bottom = origin + uint(STEP * (STEP < 0 ? high - 1 : low));
    uint top = origin + uint(STEP * (STEP < 0 ? low : high - 1));
    load_words(0u, uint(APART) * CHUNK_WORDS, lowest, bottom, top);
    make_words();
    store_words(0u, CHUNK_WORDS, dst_offset / LANES, low, high);
}
