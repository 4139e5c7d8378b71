// Copy between pixels, CHANNELS elements side by side, and planes, of 8, 16 or 32 bits: four pixels an invocation, in whole fours.
//
// TO_PLANES: a run of the source becomes a four in each of CHANNELS planes, lane_stride apart in the destination. u8, three
//   channels: 12 bytes rgbrgbrgbrgb become rrrr, gggg and bbbb. Otherwise the other way, lane_stride apart in the source.
// What an index counts is fours of pixels; the axis of the channels is none of those walked.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 128) in;

layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 0) readonly buffer Src2 { uvec2 src2[]; };
layout(std430, binding = 0) readonly buffer Src4 { uvec4 src4[]; };
layout(std430, binding = 1) writeonly buffer Dst { uint dst[]; };
layout(std430, binding = 1) writeonly buffer Dst2 { uvec2 dst2[]; };
layout(std430, binding = 1) writeonly buffer Dst4 { uvec4 dst4[]; };
layout(std430, binding = 2) readonly buffer Parameters { uvec4 parameters[]; };

layout(constant_id = 0) const uint WIDTH = 8;
layout(constant_id = 1) const uint CHANNELS = 3;  // 2 to 4

const uint MOST_CHANNELS = 4;
const uint LANES = 32u / WIDTH;
const uint FOUR_WORDS = WIDTH / 8u;

#include "dispatch.glsl"

uint src_offset;

#define VISIT_AXIS(k) src_offset += coordinate * SRC(k);
#include "axes.glsl"

uint words[4 * MOST_CHANNELS];  // fours, one after the other

void load_four(uint place, uint offset) {
    if (WIDTH == 8u) {
        words[place] = src[offset / 4u];
    } else if (WIDTH == 16u) {
        uvec2 four = src2[offset / 4u];
        words[2u * place] = four.x;
        words[2u * place + 1u] = four.y;
    } else {
        uvec4 four = src4[offset / 4u];
        [[unroll]] for (uint n = 0u; n < 4u; ++n) {
            words[4u * place + n] = four[n];
        }
    }
}

uint element(uint index) {
    return words[index / LANES] >> (index % LANES * WIDTH) & 0xFFFFFFFFu >> (32u - WIDTH);
}

void store_four(uint offset, uint four[4]) {
    if (WIDTH == 8u) {
        dst[offset / 4u] = four[0] | four[1] << 8 | four[2] << 16 | four[3] << 24;
    } else if (WIDTH == 16u) {
        dst2[offset / 4u] = uvec2(four[0] | four[1] << 16, four[2] | four[3] << 16);
    } else {
        dst4[offset / 4u] = uvec4(four[0], four[1], four[2], four[3]);
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
    [[unroll]] for (uint n = 0u; n < MOST_CHANNELS; ++n) {
        if (n < CHANNELS) {
#ifdef TO_PLANES
            load_four(n, src_offset + 4u * n);
#else
            load_four(n, src_offset + n * dispatch.lane_stride);
#endif
        }
    }
    [[unroll]] for (uint n = 0u; n < MOST_CHANNELS; ++n) {
        if (n < CHANNELS) {
            uint four[4];
            [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
#ifdef TO_PLANES
                four[lane] = element(lane * CHANNELS + n);
#else
                uint place = 4u * n + lane;  // in the run
                four[lane] = element(place % CHANNELS * 4u + place / CHANNELS);
#endif
            }
#ifdef TO_PLANES
            store_four(dst_offset + n * dispatch.lane_stride, four);
#else
            store_four(dst_offset + 4u * n, four);
#endif
        }
    }
}
