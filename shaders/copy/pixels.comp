// Copy between rows of pixels, CHANNELS elements side by side, and rows of planes, of 8, 16 or 32 bits, wherever they begin.
//
// A chunk of pixels an invocation: four groups, or one where a GPU would have too few invocations. A group is as many pixels as a
// word has elements, so that it is CHANNELS words: one of each plane. Where a row of the destination begins in the middle of a
// word, every word of it has elements of two groups. So the group before the chunk is loaded too, and what is stored are these
// words, moved up by the elements before the row.
// u8, three channels, a plane at offset 2: its first word is two bytes that are not its own and bytes 0 and 1 of the plane.
//
// TO_PLANES: a run of the source becomes a run in each of CHANNELS planes, plane_stride apart in the destination. Otherwise the
//   other way, plane_stride apart in the source.
// What axis 0 counts is chunks; dispatch.row_size is the pixels of a row.
// WHOLE_LOADS, WHOLE_STORES: rows are whole chunks, and begin at a multiple of so many words. With one group both or neither are.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 128) in;

layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 0) readonly buffer Src4 { uvec4 src4[]; };
layout(std430, binding = 1) buffer Dst { uint dst[]; };
layout(std430, binding = 1) buffer Dst4 { uvec4 dst4[]; };
layout(std430, binding = 2) readonly buffer Parameters { uvec4 parameters[]; };

layout(constant_id = 1) const uint CHANNELS = 3;  // 2 to 4
layout(constant_id = 2) const bool WHOLE_LOADS = false;
layout(constant_id = 3) const bool WHOLE_STORES = false;
layout(constant_id = 4) const bool FULL = false;  // every invocation of every group has a chunk
layout(constant_id = 5) const uint GROUPS = 4;    // of a chunk, 4 or 1: words of each plane

const uint MOST_CHANNELS = 4;
const uint LOADED_GROUPS = GROUPS + 1u;  // the first of them before those that are the invocation's own
#define MOST_LOADED 24  // 4 * (5 + 1)
#define MOST_STORED 17  // 4 * 4 + 1

#define PUSH_CHUNKS
#include "dispatch.glsl"
#include "elements.glsl"
#include "rows.glsl"

const uint FOUR = 4u * LANES;        // elements of four words
const uint CHUNK = GROUPS * LANES;  // pixels

uint src_offset, dst_offset, chunk;

#define VISIT_AXIS(k) \
    src_offset += coordinate * SRC(k); \
    if (k == 0) { \
        chunk = coordinate; \
    }
#include "axes.glsl"

// Words of a whole row. The chunk that a row of the destination may have behind the last one loads that instead, for nothing.
void load_four(uint place, uint offset, bool is_behind) {
    uvec4 four = src4[selected(offset / FOUR - uint(is_behind), offset)];
    [[unroll]] for (uint n = 0u; n < 4u; ++n) {
        loaded[min(place + n, MOST_LOADED - 1u)] = four[n];
    }
}

// Words 1 to `count`, with so many elements of the word before each in front of its own; they begin at 0 then.
void move_up(uint count, uint elements) {
    uint shift = elements * BITS;
    [[unroll]] for (uint n = 0u; n + 1u < MOST_STORED; ++n) {
        if (n < count) {
            stored[n] = LANES == 1u ? stored[n + 1u] : stored[n] >> 1 >> (31u - shift) | stored[n + 1u] << shift;
        }
    }
}

void store(uint count, uint offset, int low, int high) {
    if (WHOLE_STORES) {
        [[unroll]] for (uint n = 0u; n < MOST_CHANNELS; ++n) {
            if (GROUPS * n < count) {
                uint first = GROUPS * n + 1u;
                if (GROUPS == 1u) {
                    dst[offset / LANES + n] = selected(stored[first], offset);
                } else {
                    uvec4 words = uvec4(stored[first], stored[first + 1u], stored[first + 2u], stored[first + 3u]);
                    [[unroll]] for (uint word = 0u; word < 4u; ++word) {
                        words[word] = selected(words[word], offset);
                    }
                    dst4[offset / FOUR + n] = words;
                }
            }
        }
    } else {
        move_up(count, offset % LANES);
        store_words(0u, count, offset / LANES, low, high);
    }
}

#ifdef TO_PLANES

void load(int first, int pixels, int bottom, int top) {
    int channels = int(CHANNELS);
    if (!WHOLE_LOADS) {
        load_words(0u, LOADED_GROUPS * CHANNELS, src_offset - LANES * CHANNELS, src_offset + uint(bottom * channels),
            src_offset + uint(top * channels + channels - 1));
        return;
    }
    if (GROUPS == 1u) {
        [[unroll]] for (uint n = 0u; n < MOST_CHANNELS; ++n) {
            if (n < CHANNELS) {
                loaded[CHANNELS + n] = src[src_offset / LANES + n];
            }
        }
        return;
    }
    [[unroll]] for (uint n = 0u; n < MOST_CHANNELS; ++n) {
        if (n < CHANNELS) {
            load_four(CHANNELS + 4u * n, src_offset + (first < pixels ? n * FOUR : 0u), first >= pixels);
        }
    }
    uvec4 before = src4[src_offset / FOUR - uint(chunk != 0u)];
    [[unroll]] for (uint n = 0u; n < MOST_CHANNELS; ++n) {
        if (n < CHANNELS) {
            loaded[n] = before[4u - CHANNELS + n];
        }
    }
}

void make(int first, int pixels) {
    [[unroll]] for (uint plane = 0u; plane < MOST_CHANNELS; ++plane) {
        if (plane < CHANNELS) {
            [[unroll]] for (uint group = 0u; group < LOADED_GROUPS; ++group) {
                stored[group] = 0u;
                [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
                    if (lane < LANES) {
                        uint element = (group * LANES + lane) * CHANNELS + plane;
                        stored[group] |= in_lane(loaded_element(0u, element), lane);
                    }
                }
            }
            uint offset = dst_offset + plane * dispatch.plane_stride;
            int outside = int(offset % LANES);
            store(GROUPS, offset, max(outside - first, 0), min(pixels - first + outside, int(CHUNK)));
        }
    }
}

#else

void load(int first, int pixels, int bottom, int top) {
    [[unroll]] for (uint plane = 0u; plane < MOST_CHANNELS; ++plane) {
        if (plane < CHANNELS) {
            uint offset = src_offset + plane * dispatch.plane_stride;
            uint place = plane * (LOADED_GROUPS + 1u);
            if (WHOLE_LOADS && GROUPS == 1u) {
                loaded[place + 1u] = src[offset / LANES];
            } else if (WHOLE_LOADS) {
                load_four(place + 1u, offset, first >= pixels);
                loaded[place] = src[offset / LANES - uint(chunk != 0u)];
            } else {
                load_words(place, LOADED_GROUPS, offset - LANES, offset + uint(bottom), offset + uint(top));
            }
        }
    }
}

void make(int first, int pixels) {
    // Of the group before, the last word.
    [[unroll]] for (uint word = 0u; word < MOST_STORED; ++word) {
        if (word <= GROUPS * CHANNELS) {
            stored[word] = 0u;
            [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
                if (lane < LANES) {
                    uint element = (word + CHANNELS - 1u) * LANES + lane;
                    uint bits = loaded_element(element % CHANNELS * (LOADED_GROUPS + 1u), element / CHANNELS);
                    stored[word] |= in_lane(bits, lane);
                }
            }
        }
    }
    int channels = int(CHANNELS);
    int outside = int(dst_offset % LANES);
    int high = min((pixels - first) * channels + outside, int(CHUNK) * channels);
    store(GROUPS * CHANNELS, dst_offset, max(outside - first * channels, 0), high);
}

#endif

void main() {
    load_axes();
    uint index = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    // With a branch, llvmpipe asks for each load and store whether its lane is there.
    if (!FULL) {
        if (index >= dispatch.pieces) {
            return;
        }
    }
    src_offset = dispatch.src_base;
    dst_offset = dispatch.dst_base;
    FOR_COORDINATES_OF_INDEX
    int first = int(chunk * CHUNK);  // pixel of the row
    int pixels = int(dispatch.row_size);
    // Pixels of the row among those loaded, counted from `first` on: from -1 group to the end of the chunk.
    load(first, pixels, max(-int(LANES), -first), min(int(CHUNK), pixels - first) - 1);
    make(first, pixels);
}
