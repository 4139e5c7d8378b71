// Copy of rows of pixels between two ways to store their channels: interleaved in one row, or in one row each.
//
// Each side has SRC_ROWS or DST_ROWS rows, `plane_stride` elements apart. A row interleaves SRC_CHANNELS or DST_CHANNELS channels of
// every pixel:
//   pixels to planes      SRC_ROWS 1, SRC_CHANNELS 3; DST_ROWS 3, DST_CHANNELS 1
//   planes to pixels      SRC_ROWS 3, SRC_CHANNELS 1; DST_ROWS 1, DST_CHANNELS 3
//   columns to rows of 9  SRC_ROWS 9, SRC_CHANNELS 1; DST_ROWS 1, DST_CHANNELS 9, for narrow elements
//   every second element  SRC_ROWS 1, SRC_CHANNELS 2; DST_ROWS 1, DST_CHANNELS 1: the first of two channels
//   a flip, or a row that begins in the middle of a word: all four 1; with BACKWARDS the source is walked from its other end
// An invocation copies a chunk of a row: four groups, or one group where a GPU would otherwise have too few invocations. A group has
// as many pixels as a word has elements, so a row has one word of it for each channel that the row interleaves. Axis 0 counts chunks;
// dispatch.row_size is in pixels.
//
// Rows may begin anywhere. A chunk of the destination begins at the word that contains its first element; the first `outside`
// elements of that word come before the row. With one channel, loads begin `outside` pixels earlier. With several channels, each
// word has elements of two groups: the kernel also loads the group before the chunk, and shifts the words up by `outside` elements.
//   u8, a row of 21 at offset 30: its chunks are offsets 28 to 43, of which 28 and 29 are outside, and 44 to 59, which ends at 51.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "shared_constants.glsl"
layout(local_size_x = GROUP_SIZE) in;

layout(constant_id = 1) const uint SRC_ROWS = 1;
layout(constant_id = 2) const uint SRC_CHANNELS = 3;  // at most MAX_CHANNELS
layout(constant_id = 3) const uint DST_ROWS = 3;
layout(constant_id = 4) const uint DST_CHANNELS = 1;
layout(constant_id = 5) const bool BACKWARDS = false;
// WHOLE_LOADS: rows of the source are whole chunks and begin at multiples of GROUPS words. WHOLE_STORES: the same of the rows of the
// destination. If GROUPS is 1, both are set or neither is.
layout(constant_id = 6) const bool WHOLE_LOADS = false;
layout(constant_id = 7) const bool WHOLE_STORES = false;
layout(constant_id = 8) const bool FULL = false;  // every invocation of every group has a chunk
layout(constant_id = 9) const uint GROUPS = 4;    // groups of a chunk: 4 or 1

#define PUSH_CHUNKS
#define PUSHED_AXES 5
#include "buffers.glsl"
#include "dispatch.glsl"
#include "elements.glsl"
#include "selected.glsl"

const uint QUAD = 4 * LANES;  // elements of four words
const int CHUNK = int(GROUPS * LANES);
const int STEP = BACKWARDS ? -int(SRC_CHANNELS) : int(SRC_CHANNELS);
const uint CHANNELS = DST_ROWS * DST_CHANNELS;  // channels copied
const uint BEFORE = WHOLE_STORES || CHANNELS == 1 ? 0u : 1u;  // groups loaded before the chunk
const uint LOADED = (BEFORE + GROUPS) * SRC_CHANNELS;  // words of a row
const uint STORED = GROUPS * DST_CHANNELS;

uint loaded[SRC_ROWS * (LOADED + 1)];  // row after row, each followed by one more word
uint stored[STORED + 1];

#include "axes.glsl"

uint src_offset, dst_offset, chunk;

// Loads the words of a row from element `lowest` on into `loaded`, from index `place` on. Reads only words that hold some of the
// elements `bottom` to `top`. `lowest` may be less than `bottom`, even negative.
void load_row_words(uint place, uint lowest, uint bottom, uint top) {
    uint first = bottom / LANES;
    int most = int(top / LANES - first);
    int before = int((lowest % LANES + (bottom - lowest)) / LANES);
    [[unroll]] for (uint n = 0; n < LOADED + (LANES > 1 ? 1u : 0u); ++n) {
        loaded[place + n] = src[first + uint(clamp(int(n) - before, 0, most))];
    }
    uint shift = lowest % LANES * BITS;
    [[unroll]] for (uint n = 0; n < LOADED; ++n) {
        if (LANES > 1) {
            loaded[place + n] = funnel(loaded[place + n], loaded[place + n + 1], shift);
        }
    }
}

// Loads the words of a row of whole chunks. The extra chunk that a destination row may have after its last one (`is_after`) loads
// the last chunk again, so that every address is valid.
void load_whole(uint place, uint offset, bool is_after) {
    uint own = place + BEFORE * SRC_CHANNELS;
    [[unroll]] for (uint n = 0; n < SRC_CHANNELS; ++n) {
        if (GROUPS == 1) {
            loaded[own + n] = src[offset / LANES + n];
        } else {
            uint quad = (offset + (is_after ? 0 : n * QUAD)) / QUAD - uint(is_after);
            uvec4 words = src4[selected(quad, offset)];
            [[unroll]] for (uint word = 0; word < 4; ++word) {
                loaded[own + 4 * n + word] = words[word];
            }
        }
    }
    if (BEFORE > 0) {
        uvec4 words = src4[offset / QUAD - uint(chunk != 0)];
        [[unroll]] for (uint n = 0; n < SRC_CHANNELS; ++n) {
            loaded[place + n] = words[4 - SRC_CHANNELS + n];
        }
    }
}

void load_rows(int before, int bottom, int top, bool is_after) {
    [[unroll]] for (uint row = 0; row < SRC_ROWS; ++row) {
        uint place = row * (LOADED + 1);
        uint offset = src_offset + row * dispatch.plane_stride;
        uint lowest = offset + uint(STEP * (BACKWARDS ? CHUNK - 1 - before : -before));
        uint of_bottom = offset + uint(STEP * bottom), of_top = offset + uint(STEP * top);
        if (WHOLE_LOADS) {
            load_whole(place, BACKWARDS ? lowest : offset, is_after);
        } else if (BACKWARDS) {
            load_row_words(place, lowest, of_top, of_bottom);
        } else {
            load_row_words(place, lowest, of_bottom, of_top + min(SRC_CHANNELS, CHANNELS) - 1);
        }
    }
}

// Computes the words of a destination row, preceded by the last word of the group before the chunk if BEFORE is 1.
void compute_words(uint row) {
    [[unroll]] for (uint word = 0; word < BEFORE + STORED; ++word) {
        stored[word] = 0;
        [[unroll]] for (uint lane = 0; lane < LANES; ++lane) {
            uint element = (word + BEFORE * (DST_CHANNELS - 1)) * LANES + lane;
            uint pixel = BACKWARDS ? uint(CHUNK) - 1 - element : element / DST_CHANNELS;
            uint channel = row * DST_CHANNELS + element % DST_CHANNELS;
            uint taken = pixel * SRC_CHANNELS + channel % SRC_CHANNELS;
            uint taken_word = loaded[channel / SRC_CHANNELS * (LOADED + 1) + taken / LANES];
            stored[word] |= in_lane(field(taken_word, taken % LANES, BITS), lane);
        }
    }
}

void store_whole(uint offset) {
    [[unroll]] for (uint n = 0; n < DST_CHANNELS; ++n) {
        if (GROUPS == 1) {
            dst[offset / LANES + n] = selected(stored[n], offset);
        } else {
            uvec4 words = uvec4(stored[4 * n], stored[4 * n + 1], stored[4 * n + 2], stored[4 * n + 3]);
            dst4[offset / QUAD + n] = selected(words, offset);
        }
    }
}

void store_shared(uint word, uint bits, uint mask) {
    atomicOr(dst[word], bits & mask);
    atomicAnd(dst[word], bits | ~mask);
}

// Stores the words. Only elements `low` to `high` - 1 belong to the row; it may share its first and its last word with other rows.
void store_anywhere(uint offset, int low, int high) {
    int lanes = int(LANES);
    uint first = offset / LANES, last = 0, shift = offset % LANES * BITS;
    [[unroll]] for (uint n = 0; n < STORED; ++n) {
        if (BEFORE > 0) {
            stored[n] = LANES == 1 ? stored[n + 1] : stored[n] >> 1 >> (31 - shift) | stored[n + 1] << shift;
        }
    }
    [[unroll]] for (uint n = 0; n < STORED; ++n) {
        int element = int(n) * lanes;
        if (element >= low && element + lanes <= high) {
            dst[first + n] = selected(stored[n], first + n);
        }
        last = int(n) == high / lanes ? stored[n] : last;
    }
    if (LANES > 1 && low > 0) {
        store_shared(first, stored[0], 0xFFFFFFFFu << uint(low) * BITS);
    }
    if (LANES > 1 && high > 0 && high % lanes != 0) {
        store_shared(first + uint(high / lanes), last, (1u << uint(high % lanes) * BITS) - 1);
    }
}

void main() {
    load_axes();
    uint index = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    // Full dispatches skip this branch, because inside a branch llvmpipe tests for each load and store whether its lane is active.
    if (!FULL) {
        if (index >= dispatch.pieces) {
            return;
        }
    }
    Walk walk = walk_to(index);
    src_offset = walk.src;
    dst_offset = walk.dst;
    chunk = walk.first;
    int first = int(chunk) * CHUNK;                  // first pixel of the chunk
    int left = int(dispatch.row_size) - first;       // pixels from `first` to the end of the row
    int outside = BEFORE > 0 || WHOLE_STORES ? 0 : int(dst_offset % LANES);
    int before = BEFORE > 0 ? int(LANES) : outside;  // pixels loaded before `first`
    if (BEFORE == 0 && !WHOLE_STORES) {
        if (left + outside <= 0) {
            return;
        }
    }
    int bottom = max(-before, -first), top = min(CHUNK - outside, left) - 1;  // the lowest and highest loaded pixel of the row
    load_rows(before, bottom, top, !WHOLE_STORES && left <= 0);
    [[unroll]] for (uint row = 0; row < DST_ROWS; ++row) {
        compute_words(row);
        uint offset = dst_offset + row * dispatch.plane_stride;
        int elements_outside = int(offset % LANES), width = int(DST_CHANNELS);
        if (WHOLE_STORES) {
            store_whole(offset);
        } else {
            store_anywhere(offset, max(elements_outside - first * width, 0), min(left * width + elements_outside, CHUNK * width));
        }
    }
}
