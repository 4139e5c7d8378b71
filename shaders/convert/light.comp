// Maps integers of 8 or 16 bits to f32 through a table, and back; colours may be multiplied by the alpha of their pixel.
//
// The table is f32; `parameters` holds it after the axes. To f32: table[element] * alpha. Back: the table has ascending thresholds,
// and the result is how many of them satisfy threshold * alpha <= element. This divides by alpha without rounding; the result is 0
// if alpha is not above 0.
// Thresholds 0.5, 1.5, ..., 254.5, element 7, alpha 2: 7 / 2 is 3.5, and 0.5, 1.5, 2.5 and 3.5 times 2 are at most 7, so 4.
// axes[k].pairs.x is the stride of axis k among the alphas.
//
// BY_QUADS, only without alpha: an invocation maps four elements, which are whole words as integers and 16 bytes as f32. Axis 0 then
// counts quads: a row of u8 1920 x 3 is 1440 quads, a word each.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "shared_constants.glsl"
layout(local_size_x = GROUP_SIZE) in;

layout(std430, binding = 2) readonly buffer Alpha { uint alphas[]; };

#define PUSH_OTHER
#define PARAMETERS 3
#include "buffers.glsl"
#include "dispatch.glsl"
#include "axes.glsl"
#include "elements.glsl"
#include "destination.glsl"
#include "quads.glsl"

layout(constant_id = 2) const bool TIMES_ALPHA = false;
layout(constant_id = 3) const uint SRC_BITS = 8;  // bits of source and alpha; 32: both are f32, mapped back to integers
layout(constant_id = 4) const bool BY_QUADS = false;

uint src_word(uint n) { return src[n]; }
uint alpha_word(uint n) { return alphas[n]; }

DEFINE_LOAD(load_src, src_word)
DEFINE_LOAD(load_alpha, alpha_word)

float table(uint place) { return uintBitsToFloat(words[4u * AXIS_ROW(RANK) + place]); }

uint integer_of(float element, float alpha) {
    uint count = 0u;
    for (uint step = 1u << BITS - 1u; step > 0u; step >>= 1) {
        precise float threshold = table(count + step - 1u) * alpha;
        count += threshold <= element ? step : 0u;
    }
    return alpha > 0.0 ? count : 0u;
}

// Maps the bits of an element: an integer to its light times alpha, or light divided by alpha to an integer.
uint mapped(uint bits, uint alpha) {
    if (SRC_BITS == 32u) {
        return integer_of(uintBitsToFloat(bits), TIMES_ALPHA ? uintBitsToFloat(alpha) : 1.0);
    }
    precise float light = table(bits) * (TIMES_ALPHA ? float(alpha) : 1.0);
    return floatBitsToUint(light);
}

uvec2 element_bits(Walk walk) {
    uint alpha = TIMES_ALPHA ? load_alpha(dispatch.other_base + walk.pairs.x, SRC_BITS).x : 0u;
    return uvec2(mapped(load_src(walk.src, SRC_BITS).x, alpha), 0u);
}

void write_quad(uint index) {
    Walk walk = walk_to(index);
    uvec4 quad = load_quad(walk.src, SRC_BITS);
    [[unroll]] for (uint n = 0u; n < 4u; ++n) {
        quad[n] = mapped(quad[n], 0u);
    }
    store_quad(walk.dst, quad, BITS);
}

void main() {
    load_axes();
    uint piece = invocation_number();
    if (!BY_QUADS) {
        write_piece(piece);
    } else if (piece < dispatch.pieces) {
        write_quad(piece);
    }
}
