// The general copy: computes some numbers from an index; the element offset on each side is a weighted sum of these numbers.
//
// Handles every layout of tiles and blocks, however they nest. The strided kernels are faster where a layout nests well.
// `parameters` is a program (plan/general.py), in rows of four words:
//   head: axes, digits, terms of the source, terms of the destination
//   an axis, innermost first: its number, its size, multiplier and shift of the division by it
//   a digit: terms, constant, modulus (0: none), divisor; then multiplier and shift of both; then its terms
//   a term: number, coefficient
// CONVERT: converts the type of elements, with scales (scales.glsl). After the terms of both sides there is another row: the number
// of terms for the position of the source's scale, and of those for the destination's scale. These terms follow.
// f32[3,5]{1,0:T(2,2)}, element (2, 3): numbers 2, 3, then a div 2 = 1, b div 2 = 1, a mod 2 = 0, b mod 2 = 1; the offset is
// 12 * 1 + 4 * 1 + 2 * 0 + 1 * 1 = 17.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "shared_constants.glsl"
layout(local_size_x = GROUP_SIZE) in;

#ifdef CONVERT
layout(constant_id = 6) const uint NUMBERS = 16;
#else
layout(constant_id = 1) const uint ELEMENT_WORDS = 1;     // words of an element: 2 where BITS is 32 and the element has 64
layout(constant_id = 2) const bool FILLS = false;  // write `low` (and `high` above it) into every element
layout(constant_id = 3) const uint NUMBERS = 16;
#endif

#include "buffers.glsl"
#include "division.glsl"
#include "elements.glsl"
#ifdef CONVERT
#include "scales.glsl"
uint old_word(uint word) { return LANES == 1 ? dst[word] : atomicOr(dst[word], 0u); }
#else
#define PUSH_DIGITS
#include "dispatch.glsl"
#endif

uint numbers[NUMBERS];
uint row = 1;

uint sum_of_terms(uint count, uint sum) {
    for (uint n = 0; n < count; ++n) {
        uvec4 term = parameters[row++];
        sum += term.y * numbers[term.x];
    }
    return sum;
}

void split_index(uint index, uint axes) {
    for (uint n = 0; n < axes; ++n) {
        uvec4 axis = parameters[row++];
        uint rest = axis.y == 1 ? index : multiply_shift(index, axis.zw);
        numbers[axis.x] = index - rest * axis.y;
        index = rest;
    }
}

void compute_digit(uint number) {
    uvec4 digit = parameters[row++];
    uvec4 divisors = parameters[row++];
    uint value = sum_of_terms(digit.x, digit.y);
    if (digit.z > 1) {
        value -= digit.z * multiply_shift(value, divisors.xy);
    }
    numbers[number] = digit.w > 1 ? multiply_shift(value, divisors.zw) : value;
}

void main() {
    uint index = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (index >= dispatch.pieces) {
        return;
    }
    uvec4 head = parameters[0];
    split_index(index, head.x);
    for (uint n = 0; n < head.y; ++n) {
        compute_digit(head.x + n);
    }
#ifdef CONVERT
    uint src_offset = sum_of_terms(head.z, dispatch.src_base);
    uint dst_offset = sum_of_terms(head.w, dispatch.dst_base);
    uvec4 pair_terms = parameters[row++];
    vec2 src_pair = src_pair_at(sum_of_terms(pair_terms.x, dispatch.src_pairs));
    vec2 dst_pair = dst_pair_at(sum_of_terms(pair_terms.y, dispatch.dst_pairs));
    store_element_shared(dst_offset, converted(load_src(src_offset), load_old(dst_offset), src_pair, dst_pair));
#else
    uint src_offset = sum_of_terms(head.z, FILLS ? 0 : dispatch.src_base_or_low);
    uint dst_offset = sum_of_terms(head.w, dispatch.dst_base);
    for (uint word = 0; word < ELEMENT_WORDS; ++word) {
        uint filled = word == 0 ? dispatch.src_base_or_low : dispatch.high;
        store_bits_shared(dst_offset * ELEMENT_WORDS + word, FILLS ? filled : load_bits(src_offset * ELEMENT_WORDS + word));
    }
#endif
}
