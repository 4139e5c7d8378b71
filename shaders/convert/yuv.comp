// Converts YUV frames, with chroma at half of the rows and columns, to RGB in fixed point: 4 x 2 pixels an invocation.
//
// Axes count chunks of four columns, pairs of rows, and frames. axes[k].pairs.x is how far a step moves in the chroma;
// axes[k].pairs.y is 1 on the axis of chunks.
// The factors are integers in units of 2^-20 (Colors in plan/yuv.py). Red of Y = 81, U = 90, V = 240 in BT.601 and limited range:
// luma (81 - 16) * 1220945 and chroma 1673555 * 112 sum to 266799585; plus 2^19, shifted right by 20, that is 254.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "shared_constants.glsl"
layout(local_size_x = GROUP_SIZE) in;

#include "buffers.glsl"

layout(constant_id = 0) const bool LUMA_ALIGNED = false;  // every four bytes of luma are one word
layout(constant_id = 1) const bool INTERLEAVED = true;  // R, G, B are side by side; otherwise in planes
layout(constant_id = 2) const uint CHROMA_STEP = 1;  // bytes from sample to sample; 2: U and V alternate

layout(push_constant) uniform Dispatch {
    uint src_base, dst_base, pieces;
    uint u_base, v_base;  // offset of the first sample of each chroma
    uint src_row, dst_row;  // bytes from row to row
    uint dst_plane;  // bytes from plane to plane
    uint last_chunk;  // number of a row's last chunk if it has only two columns (two more are computed and discarded); else 2^32 - 1
    int zero, min_luma, luma, v_to_r, u_to_g, v_to_g, u_to_b;
} dispatch;

#include "group.glsl"
#include "axes.glsl"
#include "words.glsl"

uint byte_at(uint offset) { return field(src[offset / 4u], offset % 4u, 8u); }

uint quad_at(uint offset) {
    uint low = src[offset / 4u];
    if (LUMA_ALIGNED || offset % 4u == 0u) {
        return low;
    }
    return funnel(low, src[offset / 4u + 1u], 8u * (offset % 4u));
}

ivec3 chroma(int u, int v) {
    const int HALF = 1 << 19;
    return HALF + ivec3(dispatch.v_to_r * v, dispatch.u_to_g * u + dispatch.v_to_g * v, dispatch.u_to_b * u);
}

uvec3 pixel(uint quad, uint place, ivec3 color) {
    int y = int(field(quad, place, 8u));
    return uvec3(clamp(color + (max(y, dispatch.min_luma) - dispatch.zero) * dispatch.luma >> 20, 0, 255));
}

void store_row(uint offset, uint quad, ivec3 left, ivec3 right) {
    uvec3 a = pixel(quad, 0u, left);
    uvec3 b = pixel(quad, 1u, left);
    uvec3 c = pixel(quad, 2u, right);
    uvec3 d = pixel(quad, 3u, right);
    uint word = offset / 4u;
    if (INTERLEAVED) {
        dst[word] = a.r | a.g << 8 | a.b << 16 | b.r << 24;
        dst[word + 1u] = b.g | b.b << 8 | c.r << 16 | c.g << 24;
        dst[word + 2u] = c.b | d.r << 8 | d.g << 16 | d.b << 24;
    } else {
        uvec3 plane = a | b << 8 | c << 16 | d << 24;
        dst[word] = plane.r;
        dst[word + dispatch.dst_plane / 4u] = plane.g;
        dst[word + dispatch.dst_plane / 2u] = plane.b;
    }
}

void main() {
    load_axes();
    uint index = invocation_number();
    if (index >= dispatch.pieces) {
        return;
    }
    Walk walk = walk_to(index);
    uint u = dispatch.u_base + walk.pairs.x;
    uint v = dispatch.v_base + walk.pairs.x;
    uint next = walk.pairs.y == dispatch.last_chunk ? 0u : CHROMA_STEP;
    ivec3 left = chroma(int(byte_at(u)) - 128, int(byte_at(v)) - 128);
    ivec3 right = chroma(int(byte_at(u + next)) - 128, int(byte_at(v + next)) - 128);
    store_row(walk.dst, quad_at(walk.src), left, right);
    store_row(walk.dst + dispatch.dst_row, quad_at(walk.src + dispatch.src_row), left, right);
}
