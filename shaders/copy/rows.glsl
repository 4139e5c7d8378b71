// Rows of neighbours, wherever they begin: their words are loaded and stored whole.
//
// The words of a row of the destination are its own, but for its first and its last, which it may share with other rows or with
// bytes that are no elements: there atomics write its elements alone.
//
// This file depends on elements.glsl, the global declarations of `src` and `dst` (uint[]), and on MOST_LOADED and MOST_STORED:
// words of `loaded`, where runs lie one after the other with one word more each, and of `stored`.

#include "selected.glsl"

uint loaded[MOST_LOADED];
uint stored[MOST_STORED];

// Words of the source from element `lowest` on, to `place`. No word is read that has none of the elements `bottom` to `top`;
// before them, `lowest` may even be below 0. One word more is changed behind them.
// Bytes 6 to 9 are the upper half of word 1, and the lower one of word 2. Shifts go by 0 to 31.
void load_words(uint place, uint count, uint lowest, uint bottom, uint top) {
    uint first = bottom / LANES;
    int most = int(top / LANES - first);
    int before = int((lowest % LANES + (bottom - lowest)) / LANES);
    [[unroll]] for (uint n = 0u; n < MOST_LOADED; ++n) {
        if (n < count || (n == count && LANES > 1u)) {
            loaded[min(place + n, MOST_LOADED - 1u)] = src[first + uint(clamp(int(n) - before, 0, most))];
        }
    }
    uint shift = lowest % LANES * BITS;
    [[unroll]] for (uint n = 0u; n + 1u < MOST_LOADED; ++n) {
        if (n < count && LANES > 1u) {
            uint at = min(place + n, MOST_LOADED - 2u);
            loaded[at] = loaded[at] >> shift | loaded[at + 1u] << 1 << (31u - shift);
        }
    }
}

// Element n of those loaded at a place.
uint loaded_element(uint place, uint n) { return loaded[place + n / LANES] >> (n % LANES * BITS) & ELEMENT_MASK; }

void store_shared(uint word, uint bits, uint mask) {
    atomicOr(dst[word], bits & mask);
    atomicAnd(dst[word], bits | ~mask);
}

// The words made at a place, of which elements `low` to `high` - 1 are of the row. A row ends behind the word in which it begins.
void store_words(uint place, uint count, uint word, int low, int high) {
    int lanes = int(LANES);
    uint last = 0u;
    [[unroll]] for (uint n = 0u; n < MOST_STORED; ++n) {
        if (n < count) {
            int element = int(n) * lanes;
            if (element >= low && element + lanes <= high) {
                dst[word + n] = selected(stored[place + n], word + n);
            }
            last = int(n) == high / lanes ? stored[place + n] : last;
        }
    }
    if (LANES > 1u && low > 0) {
        store_shared(word, stored[place], 0xFFFFFFFFu << (uint(low) * BITS));
    }
    if (LANES > 1u && high > 0 && high % lanes != 0) {
        store_shared(word + uint(high / lanes), last, (1u << (uint(high % lanes) * BITS)) - 1u);
    }
}
