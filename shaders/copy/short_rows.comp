// Copies rows of ROW elements of 8 or 16 bits through the shared memory of a group. The rows follow one another in the destination
// and are columns of the source: element r of row n is element n + r * lane_stride of the source.
//
// interleaved_copy.comp can copy these rows too. There an invocation stores the ROW words of a block, so neighbouring invocations
// store words that are ROW apart. Here they load and store neighbouring words: a model of a GPU's memory gives 1.00 of
// the speed of a copy, not 0.45. As a variant of that kernel, this one would still need 38 of its 60 lines, and a second `main`.
//
// A block has as many rows as a word has elements. So it is ROW words on both sides, and shares no word with another block. Axis 0
// counts blocks.
//   u8, ROW 9, OIhw4i16o4i to OIhw: word r of the nine is source bytes 256 * r to 256 * r + 3, which are element r of four rows.
//   Word 2 of the destination is element 8 of row 0 and elements 0 to 2 of row 1: byte 0 of word 8, byte 1 of words 0 to 2.
// A group copies ACROSS * DEEP blocks. ACROSS blocks, all of axis 0, are side by side in the source; DEEP blocks, along the other
// axes, are side by side in the destination.
//   ACROSS 16, DEEP 8: the group loads block 16 * q + p as number 16 * q + p and stores it as number 8 * p + q.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "shared_constants.glsl"
layout(local_size_x = GROUP_SIZE) in;

layout(constant_id = 0) const uint BITS = 8;  // 8 or 16
layout(constant_id = 1) const uint ROW = 9;   // 2 to 31
layout(constant_id = 2) const uint ACROSS = 1;
layout(constant_id = 3) const uint DEEP = 64;

#define PUSHED_AXES 5
#include "buffers.glsl"
#include "dispatch.glsl"
#include "axes.glsl"

const uint LANES = 32 / BITS;
const uint BLOCKS = ACROSS * DEEP;  // blocks of a group, at most GROUP_SIZE
const uint PARTS = GROUP_SIZE / BLOCKS;  // invocations that load a block
const uint CELLS = BLOCKS * ROW;  // words of a group

shared uint cells[SHORT_ROWS_WORDS];  // word r of block k is at index k * ROW + r
shared uint first_words[GROUP_SIZE];  // first destination word of each block

void load_part(uint block, uint part, uint src_offset) {
    [[unroll]] for (uint n = 0; n < (ROW + PARTS - 1) / PARTS; ++n) {
        uint r = n * PARTS + part;
        if (r < ROW) {
            cells[block * ROW + r] = src[(src_offset + r * dispatch.lane_stride) / LANES];
        }
    }
}

// Word n of a block's rows: its elements are n * LANES and the following ones, counted through one row after another.
uint word_of_rows(uint block, uint n) {
    uint bits = 0;
    [[unroll]] for (uint lane = 0; lane < LANES; ++lane) {
        uint element = n * LANES + lane;
        bits |= (cells[block * ROW + element % ROW] >> element / ROW * BITS & (1u << BITS) - 1) << lane * BITS;
    }
    return bits;
}

void main() {
    load_axes();
    uint first = group_number() * BLOCKS;
    uint block = gl_LocalInvocationID.x % BLOCKS, part = gl_LocalInvocationID.x / BLOCKS;
    uint index = first + block;
    bool has_block = index < dispatch.pieces && part < PARTS;
    Walk walk = walk_to(index);
    uint src_offset = walk.src;
    uint dst_offset = walk.dst;
    if (has_block) {
        if (part == 0) {
            first_words[block] = dst_offset / LANES;
        }
        load_part(block, part, src_offset);
    }
    // Invocations without a block must not return earlier, because all invocations have to reach the barrier.
    barrier();
    [[unroll]] for (uint n = 0; n < (CELLS + GROUP_SIZE - 1) / GROUP_SIZE; ++n) {
        uint cell = n * GROUP_SIZE + gl_LocalInvocationID.x;
        uint number = cell / ROW;
        uint block = number % DEEP * ACROSS + number / DEEP;
        if (cell < CELLS && first + block < dispatch.pieces) {
            dst[first_words[block] + cell % ROW] = word_of_rows(block, cell % ROW);
        }
    }
}
