// The general copy: computes some numbers from an index; the element offset on each side is a weighted sum of these numbers.
//
// Handles every layout of tiles and blocks, however they nest. The strided kernels are faster where a layout nests well.
// `parameters` is a program (plan/general.py), in rows of four words: a Program; a Split for each axis, innermost first; for each
// digit a Digit, then its terms; the terms of the source, and those of the destination.
// CONVERT: converts the type of elements, with scales (scales.glsl). After the terms of both sides there are PairTerms, then the
// terms for the position of the source's scale and those for the destination's.
// f32[3,5]{1,0:T(2,2)}, element (2, 3): numbers a = 2, b = 3, then a div 2 = 1, b div 2 = 1, a mod 2 = 0, b mod 2 = 1; the offset is
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

// Rows of the program, see axes.glsl.
struct Program { uint axes, digits, src_terms, dst_terms; };  // how many there are of each
struct Split { uint number, size; uvec2 divide_by_size; };    // of an axis: which number it gives, and the size to divide by
struct Digit { uint terms, constant, modulus, divisor; uvec2 divide_by_modulus, divide_by_divisor; };  // modulus 0: none
struct Term { uint number, coefficient; uvec2 unused; };
struct PairTerms { uint src_terms, dst_terms; uvec2 unused; };  // how many terms the positions of both pairs have

Program program_of(uvec4 row) { return Program(row.x, row.y, row.z, row.w); }
Split split_of(uvec4 row) { return Split(row.x, row.y, row.zw); }
Digit digit_of(uvec4 first, uvec4 second) { return Digit(first.x, first.y, first.z, first.w, second.xy, second.zw); }
Term term_of(uvec4 row) { return Term(row.x, row.y, row.zw); }
PairTerms pair_terms_of(uvec4 row) { return PairTerms(row.x, row.y, row.zw); }

uint numbers[NUMBERS];
uint row = 1;

uint sum_of_terms(uint count, uint sum) {
    for (uint n = 0; n < count; ++n) {
        Term term = term_of(parameters[row++]);
        sum += term.coefficient * numbers[term.number];
    }
    return sum;
}

void split_index(uint index, uint axes) {
    for (uint n = 0; n < axes; ++n) {
        Split axis = split_of(parameters[row++]);
        uint rest = axis.size == 1 ? index : multiply_shift(index, axis.divide_by_size);
        numbers[axis.number] = index - rest * axis.size;
        index = rest;
    }
}

void compute_digit(uint number) {
    Digit digit = digit_of(parameters[row], parameters[row + 1]);
    row += 2;
    uint value = sum_of_terms(digit.terms, digit.constant);
    if (digit.modulus > 1) {
        value -= digit.modulus * multiply_shift(value, digit.divide_by_modulus);
    }
    numbers[number] = digit.divisor > 1 ? multiply_shift(value, digit.divide_by_divisor) : value;
}

void main() {
    uint index = group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (index >= dispatch.pieces) {
        return;
    }
    Program program = program_of(parameters[0]);
    split_index(index, program.axes);
    for (uint n = 0; n < program.digits; ++n) {
        compute_digit(program.axes + n);
    }
#ifdef CONVERT
    uint src_offset = sum_of_terms(program.src_terms, dispatch.src_base);
    uint dst_offset = sum_of_terms(program.dst_terms, dispatch.dst_base);
    PairTerms pair_terms = pair_terms_of(parameters[row++]);
    vec2 src_pair = src_pair_at(sum_of_terms(pair_terms.src_terms, dispatch.src_pairs));
    vec2 dst_pair = dst_pair_at(sum_of_terms(pair_terms.dst_terms, dispatch.dst_pairs));
    store_element_shared(dst_offset, converted(load_src(src_offset), load_old(dst_offset), src_pair, dst_pair));
#else
    uint src_offset = sum_of_terms(program.src_terms, FILLS ? 0 : dispatch.src_base_or_low);
    uint dst_offset = sum_of_terms(program.dst_terms, dispatch.dst_base);
    for (uint word = 0; word < ELEMENT_WORDS; ++word) {
        uint filled = word == 0 ? dispatch.src_base_or_low : dispatch.high;
        store_bits_shared(dst_offset * ELEMENT_WORDS + word, FILLS ? filled : load_bits(src_offset * ELEMENT_WORDS + word));
    }
#endif
}
