// Chooses which destination elements an invocation writes.
//
// OWN_WORDS: an invocation owns one destination word and finds the elements in it by dividing by the destination strides, the
//   outermost first. Sizes (2, 3), strides (4, 1): offset 6 is 6 / 4 = 1, then 6 - 4 = 2, so index (1, 2); offset 7 leaves 3,
//   which is not below size 3, so it is a hole, whose byte stays. Needs nested strides; elements narrower than a word need no
//   atomics.
// Otherwise an invocation writes one element, with atomics if elements share words. Used for interleaved strides, and where
//   holes outnumber elements.
//
// This file depends on axes.glsl, dispatch.glsl, elements.glsl and a function of the kernel:
//   uvec2 element_bits(Walk walk)   the bits of the element that the coordinates lead to
layout(constant_id = 1) const bool OWN_WORDS = false;

uvec2 element_bits(Walk walk);

// Finds the walk to the element at an offset of the destination. Returns false if there is no element.
bool walk_to_offset(uint offset, out Walk walk) {
    walk = walk_start();
    if (offset < dispatch.dst_base) {
        return false;
    }
    uint rest = offset - dispatch.dst_base;
#define OFFSET_TO_COORDINATE(k) \
    IF_AXIS(k) { \
        uint coordinate = axes[k].dst_stride == 1 ? rest : multiply_shift(rest, axes[k].divide_by_dst_stride); \
        if (coordinate >= axes[k].size) { \
            return false; \
        } \
        rest -= coordinate * axes[k].dst_stride; \
        move_along(walk, k, coordinate); \
    }
    FOR_AXES_OUTWARD_IN(OFFSET_TO_COORDINATE)
    return rest == 0;
}

void write_owned_word(uint word) {
    uint bits = 0;
    uint mask = 0;
    for (uint lane = 0; lane < LANES; ++lane) {
        Walk walk;
        if (walk_to_offset(word * LANES + lane, walk)) {
            bits |= in_lane(element_bits(walk).x, lane);
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
        Walk walk = walk_to(piece);
        store_element_shared(walk.dst, element_bits(walk));
    }
}
