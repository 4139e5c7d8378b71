// Maps integers of 8 or 16 bits to f32 through a table, and back; colours may be multiplied by the alpha of their pixel.
//
// The table is f32 and follows the axes in `parameters`. To f32: table[element] * alpha. Back: the table is ascending thresholds,
// and the result is how many satisfy threshold * alpha <= element, a division by alpha in exact steps; 0 if alpha is not above 0.
// Thresholds 0.5, 1.5, ..., 254.5, element 7, alpha 2: 7 / 2 is 3.5, and 0.5, 1.5, 2.5 and 3.5 times 2 are at most 7, so 4.
// PAIRS(k).x is the stride of axis k among the alphas.
//
// FOURS: without alpha, four elements at a time, as whole words of integers and 16 bytes of f32. Axis 0 then counts fours: a row of
// u8 1920 x 3 is 1440 fours, a word each.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 128) in;

layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 0) readonly buffer Src4 { vec4 src4[]; };
layout(std430, binding = 1) buffer Dst { uint dst[]; };
layout(std430, binding = 1) buffer Dst4 { uvec4 dst4[]; };
layout(std430, binding = 2) readonly buffer Alpha { uint alphas[]; };
layout(std430, binding = 3) readonly buffer Parameters { uvec4 parameters[]; };
layout(std430, binding = 3) readonly buffer Table { float words[]; };  // the same buffer as words: one load an entry

#define PUSH_OTHER
#include "dispatch.glsl"
#include "axes.glsl"
#include "elements.glsl"

layout(constant_id = 2) const bool TIMES_ALPHA = false;
layout(constant_id = 3) const uint SRC_BITS = 8;  // of source and alpha; 32: both are f32, mapped back to integers
layout(constant_id = 4) const bool FOURS = false;

uint src_offset;
uint alpha_offset;

#define VISIT_AXIS(k) \
    src_offset += coordinate * SRC(k); \
    alpha_offset += coordinate * PAIRS(k).x;
#include "destination.glsl"

void begin_element() {
    src_offset = dispatch.src_base;
    alpha_offset = dispatch.other_base;
}

#define LOADED(name) \
    uint load_##name(uint offset) { \
        uint lanes = 32u / SRC_BITS; \
        return name[offset / lanes] >> (offset % lanes * SRC_BITS) & 0xFFFFFFFFu >> (32u - SRC_BITS); \
    }
LOADED(src)
LOADED(alphas)

float table(uint place) { return words[4u * AXIS_ROW(RANK) + place]; }

uint integer_of(float element, float alpha) {
    uint count = 0u;
    for (uint step = 1u << BITS - 1u; step > 0u; step >>= 1) {
        precise float threshold = table(count + step - 1u) * alpha;
        count += threshold <= element ? step : 0u;
    }
    return alpha > 0.0 ? count : 0u;
}

uvec2 element_bits(uint dst_offset) {
    uint bits = load_src(src_offset);
    uint alpha = TIMES_ALPHA ? load_alphas(alpha_offset) : 0u;
    if (SRC_BITS == 32u) {
        return uvec2(integer_of(uintBitsToFloat(bits), TIMES_ALPHA ? uintBitsToFloat(alpha) : 1.0), 0u);
    }
    precise float light = table(bits) * (TIMES_ALPHA ? float(alpha) : 1.0);
    return uvec2(floatBitsToUint(light), 0u);
}

void write_four(uint index) {
    begin_element();
    uint dst_offset = visit_index(index);
    uvec4 four;
    if (SRC_BITS == 32u) {
        vec4 elements = src4[src_offset / 4u];
        [[unroll]] for (uint n = 0u; n < 4u; ++n) {
            four[n] = integer_of(elements[n], 1.0);
        }
        uvec2 codes = BITS == 8u ? uvec2(four.x | four.y << 8 | four.z << 16 | four.w << 24) : four.xz | four.yw << 16;
        [[unroll]] for (uint n = 0u; n < 4u / LANES; ++n) {
            dst[dst_offset / LANES + n] = codes[n];
        }
        return;
    }
    uint lanes = 32u / SRC_BITS;
    [[unroll]] for (uint n = 0u; n < 4u; ++n) {
        uint code = src[src_offset / lanes + n / lanes] >> (n % lanes * SRC_BITS) & 0xFFFFFFFFu >> (32u - SRC_BITS);
        four[n] = floatBitsToUint(table(code));
    }
    dst4[dst_offset / 4u] = four;
}

void main() {
    load_axes();
    uint piece = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (!FOURS) {
        write_piece(piece);
    } else if (piece < dispatch.pieces) {
        write_four(piece);
    }
}
