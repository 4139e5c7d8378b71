// A hand-written kernel for one type to another: an invocation computes four elements in a row. Right for finite numbers
// that are 0 or normal in both types.
#version 450
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint QUADS = 1u;
layout(constant_id = 2) const uint PLANE_QUADS = 1u;  // of one channel, for S8_SCALED
layout(constant_id = 3) const uint CHANNELS = 1u;
layout(std430, binding = 1) writeonly buffer Dst { uvec4 dst[]; };
layout(std430, binding = 1) writeonly buffer Dst2 { uvec2 dst2[]; };

#if defined(U8_F32) || defined(S8_SCALED)
layout(std430, binding = 0) readonly buffer Src { uint src[]; };
#elif defined(F16_F32)
layout(std430, binding = 0) readonly buffer Src { uvec2 src[]; };
#else
layout(std430, binding = 0) readonly buffer Src { uvec4 src[]; };
#endif

// Nearest, ties to even.
uint bf16_of(uint f32) { return f32 + 0x7FFFu + (f32 >> 16 & 1u) >> 16; }

uint f32_of(uvec2 f64) {
    uint exponent = f64.y >> 20 & 0x7FFu, rest = f64.x & 0x1FFFFFFFu;
    uint magnitude = (exponent - 896u << 23) + ((f64.y & 0xFFFFFu) << 3 | f64.x >> 29);
    magnitude += uint(rest + (magnitude & 1u) > 0x10000000u);
    return (f64.y & 0x80000000u) | (exponent <= 896u ? 0u : magnitude);
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= QUADS) {
        return;
    }
#if defined(U8_F32)
    dst[i] = floatBitsToUint(vec4(uvec4(src[i]) >> uvec4(0u, 8u, 16u, 24u) & 0xFFu));
#elif defined(S8_SCALED)
    float scale = 0.5 + float(i / PLANE_QUADS % CHANNELS) / float(CHANNELS);
    dst[i] = floatBitsToUint(vec4(ivec4(uvec4(src[i]) << uvec4(24u, 16u, 8u, 0u)) >> 24) * scale);
#elif defined(F16_F32)
    dst[i] = floatBitsToUint(vec4(unpackHalf2x16(src[i].x), unpackHalf2x16(src[i].y)));
#elif defined(F32_F16)
    vec4 quad = uintBitsToFloat(src[i]);
    dst2[i] = uvec2(packHalf2x16(quad.xy), packHalf2x16(quad.zw));
#elif defined(F32_BF16)
    uvec4 quad = src[i];
    dst2[i] = uvec2(bf16_of(quad.x) | bf16_of(quad.y) << 16, bf16_of(quad.z) | bf16_of(quad.w) << 16);
#elif defined(S32_S64)
    uvec4 quad = src[i];
    uvec4 signs = uvec4(ivec4(quad) >> 31);
    dst[2u * i] = uvec4(quad.x, signs.x, quad.y, signs.y);
    dst[2u * i + 1u] = uvec4(quad.z, signs.z, quad.w, signs.w);
#else
    uvec4 low = src[2u * i], high = src[2u * i + 1u];
    dst[i] = uvec4(f32_of(low.xy), f32_of(low.zw), f32_of(high.xy), f32_of(high.zw));
#endif
}
