// Integers of 64 bits in two words, the lower one first: what 64-bit elements need on devices without 64-bit arithmetic.

uvec2 negated(uvec2 value) {
    uint low = 0u - value.x;
    return uvec2(low, ~value.y + uint(low == 0u));
}

bool is_less(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }

uvec2 plus_one(uvec2 value) { return uvec2(value.x + 1u, value.y + uint(value.x == 0xFFFFFFFFu)); }

// Shifts by 0 to 63 bits. GLSL leaves a shift of a word by 32 undefined, hence the steps.
uvec2 shifted_left(uvec2 value, uint count) {
    if (count >= 32u) {
        return uvec2(0u, value.x << (count - 32u));
    }
    return count == 0u ? value : uvec2(value.x << count, value.y << count | value.x >> (32u - count));
}

uvec2 shifted_right(uvec2 value, uint count) {
    if (count >= 32u) {
        return uvec2(value.y >> (count - 32u), 0u);
    }
    return count == 0u ? value : uvec2(value.x >> count | value.y << (32u - count), value.y >> count);
}

// Number of the highest bit that is set; -1 of 0.
int top_bit(uvec2 value) { return value.y != 0u ? 32 + findMSB(value.y) : findMSB(value.x); }
