// Strided copy of whole words: copies source index i to destination index i, in elements of 32, 64 or 128 bits.
//
// WORDS 1, 2, 4: 32-bit words of one element. Moving bits needs no type: f64 is WORDS 2, and a contiguous run of u8 whose
// ends and rows are at multiples of 16 bytes is WORDS 4.
// RUN: both sides are contiguous, so there are no axes at all.
// FILL: the source is not read. A word is dispatch.low; 128 bits are dispatch.low, dispatch.high, and both once more.
// GATHER: loads four single words, lane_stride apart, and stores them as 128 bits. A slice [::2] has lane_stride 2, a flip -1,
// a broadcast 0.
// SCATTER: loads 128 bits and stores them as four single words, lane_stride apart. Where channels are copied out of a block,
// lane_stride is the size of a channel. For lane_stride 1, such as a tile's row copied to packed rows of odd length, see WORDS_IN_A_ROW.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "shared_constants.glsl"
layout(local_size_x = GROUP_SIZE) in;

#if WORDS == 4
#define ELEMENT uvec4
#elif WORDS == 2
#define ELEMENT uvec2
#else
#define ELEMENT uint
#endif

#ifdef GATHER
layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 0) readonly buffer Src4 { uvec4 src4[]; };
#else
layout(std430, binding = 0) readonly buffer Src { ELEMENT src[]; };
#endif
#ifdef SCATTER
layout(std430, binding = 1) writeonly buffer Dst { uint dst[]; };
layout(std430, binding = 1) writeonly buffer Dst4 { uvec4 dst4[]; };
#else
layout(std430, binding = 1) writeonly buffer Dst { ELEMENT dst[]; };
#endif
#ifndef RUN
layout(std430, binding = 2) readonly buffer Parameters { uvec4 parameters[]; };
// With more pushed axes, NVK of Mesa 26.1 runs out of registers on Maxwell.
#ifdef SCATTER
#define PUSHED_AXES 2
#else
#define PUSHED_AXES 3
#endif
#endif

#include "dispatch.glsl"
#ifndef RUN
#include "axes.glsl"
#endif

// True: the pieces of an invocation are neighbours, which is a fifth faster on llvmpipe. False, for GPUs: they are a work group
// apart, so that neighbouring invocations share a memory transaction.
layout(constant_id = 0) const bool NEIGHBOURS = false;

// Pieces (WORDS words, or four single words) that an invocation copies: 4, or 2 or 1 where a GPU would have too few invocations.
layout(constant_id = 1) const uint EACH = PIECES_EACH;

#ifndef RUN
// The pieces of an invocation differ along axis 0 alone, whose size is a multiple of EACH: the axes are walked once for all of them.
// llvmpipe takes 0.7 to 0.85 of the time.
// Sizes (12, 5), NEIGHBOURS, EACH 4: piece 16 is coordinates (4, 1), and 17 to 19 are (5, 1) to (7, 1).
layout(constant_id = 2) const bool TOGETHER = false;

// Every invocation has all its pieces. Otherwise there is a branch, in which llvmpipe tests each load and store for active lanes.
layout(constant_id = 3) const bool FULL = false;
#else
const bool FULL = false;
#endif

#if defined(GATHER) || defined(SCATTER)
// Where the four single words of a piece are that GATHER loads and SCATTER stores.
layout(constant_id = 4) const uint ARRANGEMENT = WORDS_APART;
#endif

ELEMENT load(uint offset) {
#if defined(FILL) && WORDS == 4
    return uvec2(dispatch.low, dispatch.high).xyxy;
#elif defined(FILL)
    return dispatch.low;
#elif defined(GATHER)
    if (ARRANGEMENT == WORDS_REVERSED) {
        return src4[offset / 4].wzyx;
    }
    uint stride = dispatch.lane_stride;
    return uvec4(src[offset], src[offset + stride], src[offset + 2 * stride], src[offset + 3 * stride]);
#else
    return src[offset];
#endif
}

void store(uint offset, ELEMENT element) {
#ifdef SCATTER
    [[unroll]] for (uint lane = 0; lane < 4; ++lane) {
        dst[offset + lane * dispatch.lane_stride] = element[lane];
    }
#else
    dst[offset] = element;
#endif
}

#ifdef SCATTER
// The 16 words of a row are three aligned quads, each stored at once, and four words around them, stored one by one. For tiles of
// f32[4091,4077] llvmpipe takes 0.76 of the time. Loads of a row gain less than a tenth, so GATHER has no such form.
// Words 3 to 18 of a buffer: the quads are words 4 to 7, 8 to 11 and 12 to 15, and around them are 16, 17, 18 and 3.

// Of the four words around the quads, number n; the 16 words begin at `start`.
uint around(uint start, uint n) {
    uint first = (start + 3) / 4 * 4;
    return first + 12 + n < start + 16 ? first + 12 + n : first + n - 4;
}

// Words n to n + 3 of the eight words of `low` and `high`; n is 0 to 3.
uvec4 quad_from(uint n, uvec4 low, uvec4 high) {
    bool is_odd = (n & 1) != 0;
    uvec4 one = is_odd ? uvec4(low.yzw, high.x) : low;
    uvec4 next = is_odd ? high.yzww : high;
    return (n & 2) != 0 ? uvec4(one.zw, next.xy) : one;
}

void move_row(uint src_offset, uint dst_offset) {
    uvec4 quads[4];
    [[unroll]] for (uint n = 0; n < 4; ++n) {
        quads[n] = src[src_offset + n];
    }
    uint shift = -dst_offset % 4;
    [[unroll]] for (uint n = 0; n < 3; ++n) {
        dst4[(dst_offset + 3) / 4 + n] = quad_from(shift, quads[n], quads[n + 1]);
    }
    uvec4 rest = quad_from(shift, quads[3], quads[0]);
    [[unroll]] for (uint n = 0; n < 4; ++n) {
        dst[around(dst_offset, n)] = rest[n];
    }
}
#endif

void main() {
#ifndef RUN
    load_axes();
#endif
    uint start = group_number() * gl_WorkGroupSize.x * EACH;
    start += gl_LocalInvocationID.x * (NEIGHBOURS ? EACH : 1);
    uint step = NEIGHBOURS ? 1 : gl_WorkGroupSize.x;
    // All loads come before the first store, so that they overlap in time; a load past the last piece loads the last piece again.
    // SCATTER stores each piece at once: with 16 words and 16 offsets, NVK of Mesa 26.1 runs out of registers on Maxwell.
    bool is_there[EACH];
    ELEMENT elements[EACH];
    uint dst_offsets[EACH];
    uint src_offset, dst_offset;
    [[unroll]] for (uint n = 0; n < EACH; ++n) {
        uint index = start + n * step;
        is_there[n] = FULL || index < dispatch.pieces;
#ifndef FILL
        index = is_there[n] ? index : dispatch.pieces - 1;
#endif
#ifdef RUN
        src_offset = dispatch.src_base + index;
        dst_offset = dispatch.dst_base + index;
#else
        if (n == 0 || !TOGETHER) {
            Walk walk = walk_to(index);
            src_offset = walk.src;
            dst_offset = walk.dst;
#ifdef SCATTER
            if (ARRANGEMENT == WORDS_IN_A_ROW) {  // only n = 0 reaches this line, and moves all pieces at once
                if (is_there[0]) {
                    move_row(src_offset, dst_offset);
                }
                return;
            }
#endif
        } else if (is_there[n]) {
            src_offset += axes[0].src_stride;
            dst_offset += axes[0].dst_stride;
        }
#endif
#ifdef SCATTER
        if (is_there[n]) {
            store(dst_offset, load(src_offset));
        }
    }
#else
        dst_offsets[n] = dst_offset;
        elements[n] = load(src_offset);
    }
    // AMD's compiler keeps all loads before the first store only if no store is in a branch of its own.
    if (is_there[EACH - 1]) {
        [[unroll]] for (uint n = 0; n < EACH; ++n) {
            store(dst_offsets[n], elements[n]);
        }
    } else {
        [[unroll]] for (uint n = 0; n < EACH; ++n) {
            if (is_there[n]) {
                store(dst_offsets[n], elements[n]);
            }
        }
    }
#endif
}
