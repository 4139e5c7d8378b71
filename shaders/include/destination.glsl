// Chooses which destination elements an invocation writes.
//
// OWN_WORDS: an invocation owns one destination word and finds the elements in it by dividing by the destination strides, the
//   outermost first. Sizes (2, 3), strides (4, 1): offset 6 is 6 / 4 = 1, then 6 - 4 = 2, so index (1, 2); offset 7 leaves 3,
//   which is not below size 3, so it is a hole, whose byte stays. Needs nested strides; elements narrower than a word need no
//   atomics.
// Otherwise an invocation writes one element, with atomics if elements share words. Used for interleaved strides, and where
//   holes outnumber elements.
//
// This file depends on axes.glsl, dispatch.glsl, elements.glsl and two functions of the kernel:
//   void begin_element()                 called before the axes of an element are visited
//   uvec2 element_bits(uint dst_offset)  called after that: the bits of the element
layout(constant_id = 1) const bool OWN_WORDS = false;

#define OFFSET_TO_COORDINATE(k) \
    IF_AXIS(k) { \
        uint coordinate = DST(k) == 1 ? rest : DIVIDE_BY_DST(rest, k); \
        if (coordinate >= SIZE(k)) { \
            return false; \
        } \
        rest -= coordinate * DST(k); \
        VISIT_AXIS(k) \
    }

uint visit_index(uint index) {
    uint dst_offset = dispatch.dst_base;
    FOR_COORDINATES_OF_INDEX
    return dst_offset;
}

bool visit_offset(uint offset) {
    if (offset < dispatch.dst_base) {
        return false;
    }
    uint rest = offset - dispatch.dst_base;
    FOR_AXES_OUTWARD_IN(OFFSET_TO_COORDINATE)
    return rest == 0;
}

void begin_element();
uvec2 element_bits(uint dst_offset);

void write_owned_word(uint word) {
    uint bits = 0;
    uint mask = 0;
    for (uint lane = 0; lane < LANES; ++lane) {
        begin_element();
        uint dst_offset = word * LANES + lane;
        if (visit_offset(dst_offset)) {
            bits |= in_lane(element_bits(dst_offset).x, lane);
            mask |= in_lane(ELEMENT_MASK, lane);
        }
    }
    store_word_owned(word, bits, mask);
}

void write_piece(uint piece) {
    if (piece >= dispatch.pieces) {
        return;
    }
    if (OWN_WORDS) {
        write_owned_word(dispatch.first_word + piece);
    } else {
        begin_element();
        uint dst_offset = visit_index(piece);
        store_element_shared(dst_offset, element_bits(dst_offset));
    }
}
