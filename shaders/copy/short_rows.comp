// Copy of rows of ROW elements of 8 or 16 bits, which follow one another in the destination and are columns of the source: element
// r of row n is element n + r * lane_stride of the source.
//
// A block is as many rows as a word has elements, so that it is ROW words on both sides, and none of them is shared. What axis 0
// counts is blocks.
//   u8, ROW 9, OIhw4i16o4i to OIhw: word r of the nine is source bytes 256 * r to 256 * r + 3, each of which is element r of another
//   row. Word 2 of the destination is element 8 of row 0 and elements 0 to 2 of row 1: byte 0 of word 8, byte 1 of words 0 to 2.
// An invocation moves a block; or a group moves ACROSS * DEEP of them together through shared memory, so that neighbouring
// invocations load and store neighbouring words. ACROSS blocks, all of axis 0, then lie side by side in the source, and DEEP blocks
// of the other axes in the destination.
//   ACROSS 16, DEEP 8: block 16 * q + p of a group is number 8 * p + q of those that are stored.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 128) in;

layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 1) writeonly buffer Dst { uint dst[]; };
layout(std430, binding = 2) readonly buffer Parameters { uvec4 parameters[]; };

layout(constant_id = 0) const uint BITS = 8;    // 8 or 16
layout(constant_id = 1) const uint ROW = 9;     // 2 to 31
layout(constant_id = 2) const uint ACROSS = 0;  // 0: an invocation moves a block
layout(constant_id = 3) const uint DEEP = 1;

#include "dispatch.glsl"
#define VISIT_AXIS(k) src_offset += coordinate * SRC(k);
#include "axes.glsl"
#include "selected.glsl"

const uint LANES = 32 / BITS;
const bool TOGETHER = ACROSS != 0;
const uint BLOCKS = TOGETHER ? ACROSS * DEEP : 128;  // of a group
const uint PARTS = 128 / BLOCKS;                     // invocations that load a block
const uint CELLS = BLOCKS * ROW;                     // at most 1024 if TOGETHER

shared uint words[1024];       // word r of block k at k * ROW + r
shared uint first_words[128];  // of each block, in the destination

uint loaded[ROW];

uint loaded_word(uint block, uint r) { return TOGETHER ? words[block * ROW + r] : loaded[r]; }

// Word n of the rows of a block: elements n * LANES and on, row after row.
uint word_of_rows(uint block, uint n) {
    uint bits = 0u;
    [[unroll]] for (uint lane = 0u; lane < LANES; ++lane) {
        uint element = n * LANES + lane;
        bits |= (loaded_word(block, element % ROW) >> element / ROW * BITS & (1u << BITS) - 1u) << lane * BITS;
    }
    return bits;
}

void move_block(uint src_offset, uint word) {
    [[unroll]] for (uint r = 0u; r < ROW; ++r) {
        loaded[r] = src[(src_offset + r * dispatch.lane_stride) / LANES];
    }
    [[unroll]] for (uint n = 0u; n < ROW; ++n) {
        dst[word + n] = selected(word_of_rows(0u, n), word);
    }
}

void load_part(uint block, uint part, uint src_offset, uint word) {
    if (part == 0u) {
        first_words[block] = word;
    }
    [[unroll]] for (uint n = 0u; n < (ROW + PARTS - 1u) / PARTS; ++n) {
        uint r = n * PARTS + part;
        if (r < ROW) {
            words[block * ROW + r] = src[(src_offset + r * dispatch.lane_stride) / LANES];
        }
    }
}

void store_words(uint first) {
    [[unroll]] for (uint n = 0u; n < (CELLS + 127u) / 128u; ++n) {
        uint cell = n * 128u + gl_LocalInvocationID.x;
        uint number = cell / ROW;
        uint block = number % DEEP * ACROSS + number / DEEP;
        if (cell < CELLS && first + block < dispatch.pieces) {
            dst[first_words[block] + cell % ROW] = word_of_rows(block, cell % ROW);
        }
    }
}

void main() {
    load_axes();
    uint first = group_number() * BLOCKS;
    uint block = gl_LocalInvocationID.x % BLOCKS, part = gl_LocalInvocationID.x / BLOCKS;
    uint index = first + block;
    bool has_block = index < dispatch.pieces && part < PARTS;
    uint src_offset = dispatch.src_base;
    uint dst_offset = dispatch.dst_base;
    FOR_COORDINATES_OF_INDEX
    if (!TOGETHER) {
        if (has_block) {
            move_block(src_offset, dst_offset / LANES);
        }
        return;
    }
    if (has_block) {
        load_part(block, part, src_offset, dst_offset / LANES);
    }
    // Every invocation comes here, those without a block too.
    barrier();
    store_words(first);
}
