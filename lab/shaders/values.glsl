// The values of one resize with tables of weights: f32, or s32 where WHOLE, in the steps of a library's own arithmetic.
//
// SRC_U8, DST_U8: bytes, four in a word; else values of 32 bits. A table has the first element of every output, then its weights.

#ifdef WHOLE
#define VALUE int
#define VALUE4 ivec4
#define NOTHING 0
VALUE value_of(uint bits) { return int(bits); }
uint bits_of(VALUE value) { return uint(value); }
#else
#define VALUE float
#define VALUE4 vec4
#define NOTHING -0.0
VALUE value_of(uint bits) { return uintBitsToFloat(bits); }
uint bits_of(VALUE value) { return floatBitsToUint(value); }
#endif

layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 0) readonly buffer Src4 { uvec4 src4[]; };
layout(std430, binding = 1) writeonly buffer Dst { uint dst[]; };
layout(std430, binding = 1) writeonly buffer Dst4 { uvec4 dst4[]; };
layout(std430, binding = 2) readonly buffer Table { uint table[]; };

VALUE load(uint offset) {
#ifdef SRC_U8
    return VALUE(src[offset / 4u] >> offset % 4u * 8u & 0xFFu);
#else
    return value_of(src[offset]);
#endif
}

// Elements `offset` to `offset` + 3; `offset` is a multiple of four.
VALUE4 load_quad(uint offset) {
#ifdef SRC_U8
    return VALUE4(uvec4(src[offset / 4u]) >> uvec4(0u, 8u, 16u, 24u) & 0xFFu);
#else
    uvec4 quad = src4[offset / 4u];
    return VALUE4(value_of(quad.x), value_of(quad.y), value_of(quad.z), value_of(quad.w));
#endif
}

#ifdef DST_U8
uint byte_of(VALUE value) {
#ifdef WHOLE
    return uint(clamp(value, 0, 255));
#else
    return uint(clamp(roundEven(value), 0.0, 255.0));
#endif
}
#endif

void store_quad(uint offset, VALUE4 quad) {
#ifdef DST_U8
    dst[offset / 4u] = byte_of(quad.x) | byte_of(quad.y) << 8 | byte_of(quad.z) << 16 | byte_of(quad.w) << 24;
#else
    dst4[offset / 4u] = uvec4(bits_of(quad.x), bits_of(quad.y), bits_of(quad.z), bits_of(quad.w));
#endif
}

// A sum after one more tap; taps are added in order. SHIFTS: a byte each, the lowest first, for the shifts of elements, of products
// and of the sum, and for the bits of the result, or 0.
VALUE added(VALUE sum, VALUE weight, VALUE element, uint shifts) {
#ifdef WHOLE
    return sum + ((element >> (shifts & 0xFFu)) * weight >> (shifts >> 8 & 0xFFu));
#else
    precise float product = weight * element;
    precise float total = sum + product;
    return total;
#endif
}

// The result of a sum.
VALUE settled(VALUE sum, uint shifts) {
#ifdef WHOLE
    uint total = shifts >> 16 & 0xFFu, bits = shifts >> 24;
    int shifted = sum + (1 << total >> 1) >> total;
    return bits == 0u ? shifted : clamp(shifted, 0, (1 << bits) - 1);
#else
    return sum;
#endif
}
