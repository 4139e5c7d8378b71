// A hand-written kernel to transpose blocks of one shape: an invocation turns SIDE by SIDE elements through its registers.
//
// Axis 0 has stride 1 in the destination, axis 1 in the source; x and y of the grid count blocks along them. The last block of an
// axis may overlap the one before; both write the same values. SIDE is 4 for 32 bits (single words where rows do not begin at a
// multiple of four), 2 for 64 bits, 4 for 16 bits and 8 for 8 bits. Rows of 8 and 16 bits are whole vectors.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "fixed_axes.glsl"

layout(constant_id = 29) const bool LOADS_VECTORS = true;
layout(constant_id = 30) const bool STORES_VECTORS = true;

#if WIDTH == 8
const uint SIDE = 8u;
#define ROW uvec2
#elif WIDTH == 16
const uint SIDE = 4u;
#define ROW uvec2
#elif WIDTH == 32
const uint SIDE = 4u;
#define ROW uvec4
#else
const uint SIDE = 2u;
#define ROW uvec4
#endif
layout(std430, binding = 0) readonly buffer Src { ROW src[]; };
layout(std430, binding = 1) writeonly buffer Dst { ROW dst[]; };
#if WIDTH == 32
layout(std430, binding = 0) readonly buffer SrcWords { uint src_words[]; };
layout(std430, binding = 1) writeonly buffer DstWords { uint dst_words[]; };
#elif WIDTH == 64
layout(std430, binding = 0) readonly buffer SrcPairs { uvec2 src_pairs[]; };
layout(std430, binding = 1) writeonly buffer DstPairs { uvec2 dst_pairs[]; };
#endif

ROW load_row(uint offset) {
#if WIDTH == 32
    if (!LOADS_VECTORS) {
        return uvec4(src_words[offset], src_words[offset + 1u], src_words[offset + 2u], src_words[offset + 3u]);
    }
#elif WIDTH == 64
    if (!LOADS_VECTORS) {
        return uvec4(src_pairs[offset], src_pairs[offset + 1u]);
    }
#endif
    return src[offset / SIDE];
}

void store_row(uint offset, ROW row) {
#if WIDTH == 32
    if (!STORES_VECTORS) {
        dst_words[offset] = row.x;
        dst_words[offset + 1u] = row.y;
        dst_words[offset + 2u] = row.z;
        dst_words[offset + 3u] = row.w;
        return;
    }
#elif WIDTH == 64
    if (!STORES_VECTORS) {
        dst_pairs[offset] = row.xy;
        dst_pairs[offset + 1u] = row.zw;
        return;
    }
#endif
    dst[offset / SIDE] = row;
}

#if WIDTH == 8
// Words of four bytes each: word n of the result has byte n of each.
uvec4 transposed_bytes(uint a, uint b, uint c, uint d) {
    uint even_ab = (a & 0x00FF00FFu) | (b & 0x00FF00FFu) << 8, odd_ab = (a >> 8 & 0x00FF00FFu) | (b & 0xFF00FF00u);
    uint even_cd = (c & 0x00FF00FFu) | (d & 0x00FF00FFu) << 8, odd_cd = (c >> 8 & 0x00FF00FFu) | (d & 0xFF00FF00u);
    return uvec4((even_ab & 0xFFFFu) | even_cd << 16, (odd_ab & 0xFFFFu) | odd_cd << 16,
                 even_ab >> 16 | (even_cd & 0xFFFF0000u), odd_ab >> 16 | (odd_cd & 0xFFFF0000u));
}
#endif

void main() {
    uvec2 block = gl_GlobalInvocationID.xy;
    uvec2 blocks = uvec2((SIZE_0 + SIDE - 1u) / SIDE, (SIZE_1 + SIDE - 1u) / SIDE);
    if (!IS_WHOLE && (block.x >= blocks.x || block.y >= blocks.y)) {
        return;
    }
    uint along_dst = min(block.x * SIDE, SIZE_0 - SIDE), along_src = min(block.y * SIDE, SIZE_1 - SIDE);
    uvec2 at = outer_offsets();
    uint from = at.x + along_dst * SRC_0 + along_src, to = at.y + along_src * DST_1 + along_dst;
    ROW rows[SIDE];
    [[unroll]] for (uint n = 0u; n < SIDE; ++n) {
        rows[n] = load_row(from + n * SRC_0);
    }
#if WIDTH == 8
    [[unroll]] for (uint half_row = 0u; half_row < 2u; ++half_row) {
        uvec4 low = transposed_bytes(rows[0][half_row], rows[1][half_row], rows[2][half_row], rows[3][half_row]);
        uvec4 high = transposed_bytes(rows[4][half_row], rows[5][half_row], rows[6][half_row], rows[7][half_row]);
        [[unroll]] for (uint n = 0u; n < 4u; ++n) {
            store_row(to + (4u * half_row + n) * DST_1, uvec2(low[n], high[n]));
        }
    }
#elif WIDTH == 16
    [[unroll]] for (uint n = 0u; n < 2u; ++n) {
        uint a = rows[0][n], b = rows[1][n], c = rows[2][n], d = rows[3][n];
        store_row(to + 2u * n * DST_1, uvec2((a & 0xFFFFu) | b << 16, (c & 0xFFFFu) | d << 16));
        store_row(to + (2u * n + 1u) * DST_1, uvec2(a >> 16 | (b & 0xFFFF0000u), c >> 16 | (d & 0xFFFF0000u)));
    }
#elif WIDTH == 32
    [[unroll]] for (uint n = 0u; n < 4u; ++n) {
        store_row(to + n * DST_1, uvec4(rows[0][n], rows[1][n], rows[2][n], rows[3][n]));
    }
#else
    store_row(to, uvec4(rows[0].xy, rows[1].xy));
    store_row(to + DST_1, uvec4(rows[0].zw, rows[1].zw));
#endif
}
