// Transpose of elements of 8, 16, 32 or 64 bits (WIDTH) through registers: the innermost axes of source and destination differ.
//
// Axis a is contiguous in the destination, axis b in the source. An invocation reads rows of B_BLOCK elements along b, B_WORDS
// words each, and writes rows of A_BLOCK elements along a, A_WORDS words each. Axis a may be two axes (A_JUMPS), of which the outer
// one continues the inner one in the destination: where the inner axis ends, the source jumps. Axis b may be two axes as well
// (B_JUMPS); then the destination jumps. All other axes are those of axes.glsl; a group has `deep` of their indices along z.
// Strides may be negative: sums wrap modulo 2^32 and are divided afterwards.
// A kernel that picks elements out of words one by one, such as interleaved_copy.comp, is slower: with blocks of this size, a
// transpose of u8 8192x8192 or s16 4096x4096 takes 1.09 times as long on llvmpipe, and has 4 % more instructions on a Mali-G610.
// ALIGNED: sizes, strides and bases are multiples of 16 bytes, and all loads and stores are of 16 bytes.
//   4x4 of a 4096x4096 transpose: reads src[4096 * a + b .. b + 3] for a..a+3, writes dst[4096 * b + a .. a + 3] for b..b+3.
// Otherwise rows begin anywhere. This kernel writes the whole words of each row of the destination, and element_copy.comp the
// elements at both ends, whose words other rows share.
//   Row b of bytes begins at dst[4093 * b], for b = 1 the second byte of word 1023: the first whole word is 1024, its
//   elements a = 3..6. So block a = 0 reads the LANES - 1 rows past its 8 as well, and writes elements 3..10.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

// A group has `across` blocks along a, `along` blocks along b, and `deep` indices of the other axes. The next group continues along
// b: where a group reads 16 bytes of a row, the next one finds the rest of the cache line.
#include "shared_constants.glsl"
layout(local_size_x = GROUP_BLOCKS) in;

#define PUSHED_AXES 3
layout(push_constant) uniform Dispatch {
    uint src_base;
    uint dst_base;
    uint a_size;
    uint b_size;
    uint a_src;       // source stride of axis a
    uint b_dst;       // destination stride of axis b, whose source stride is 1
    uint a_jump;      // added to the source offset at each new run of axis a, besides a_src; 0: there is one run
    uint b_jump;      // added to the destination offset at each new run of axis b, besides b_dst; 0: one run
    uint across;
    uint along;
    uint deep;
    uint per_across;  // 2^16 / across, rounded up: 50 / 9 is 50 * 7282 >> 16 = 5
    uint per_along;
    uint indices;     // how many indices all other axes have together
    uint axes[5 * PUSHED_AXES];  // the innermost of the other axes, see axes.glsl
} dispatch;

layout(constant_id = 0) const bool A_JUMPS = false;
layout(constant_id = 1) const bool B_JUMPS = false;

#include "buffers.glsl"
#include "axes.glsl"
#include "selected.glsl"

const uint LANES = WIDTH < 32 ? 32 / WIDTH : 1;     // elements in a word, if it has any whole ones
const uint ELEMENT_WORDS = WIDTH < 32 ? 1 : WIDTH / 32;

#if defined(ALIGNED) && WIDTH == 8
// 2 on GPUs: with 4, the 64 words of a block take all registers of a Mali-G610, which spills 13 and takes 1.65 times
// the cycles for a byte. llvmpipe takes 1.5 times as long with 2.
layout(constant_id = 3) const uint A_WORDS = 4;
#elif defined(ALIGNED) || WIDTH >= 32
const uint A_WORDS = 4;
#else
const uint A_WORDS = 2;  // with 4, compiling takes twice as long, and more invocations at the end of a row have nothing to write
#endif
const uint A_BLOCK = A_WORDS / ELEMENT_WORDS * LANES;
#ifdef ALIGNED
const uint B_WORDS = 4;
layout(constant_id = 2) const bool FULL = false;  // every invocation of every group has a block
#else
const bool FULL = false;
layout(constant_id = 2) const uint B_WORDS = 4;  // or, for more invocations, the words of one element, at least one
#endif
const uint B_BLOCK = B_WORDS / ELEMENT_WORDS * LANES;
#if defined(ALIGNED) || WIDTH >= 32
const uint ROWS = A_BLOCK;
const uint READ_ROWS = ROWS;
#else
const uint ROWS = A_BLOCK + LANES;
const uint READ_ROWS = ROWS - 1;  // no word that is written needs the last row
#endif

uvec4 rows[ROWS];

// Along b, runs of 9 elements, 256 apart in the destination; each run begins 16 after the run before it: element 20 is element 2 of
// run 2, at 20 * 256 + 2 * (16 - 9 * 256).
// `header` divides by the length of a run of axis a, and of axis b.
uint along_a(uint a) {
    return a * dispatch.a_src + (A_JUMPS ? multiply_shift(a, header.divide_by_first) * dispatch.a_jump : 0u);
}

uint along_b(uint b) {
    return b * dispatch.b_dst + (B_JUMPS ? multiply_shift(b, header.divide_by_second) * dispatch.b_jump : 0u);
}

// Transposes squares of LANES x LANES elements: word n of a result has one element from each of LANES rows.
void transpose_squares() {
#if WIDTH == 8
    // Exchanges halves between words, then bytes between halves.
    [[unroll]] for (uint n = 0; n < ROWS; n += 4) {
        uvec4 x = rows[n] & 0xFFFFu | rows[n + 2] << 16, z = rows[n] >> 16 | rows[n + 2] & 0xFFFF0000u;
        uvec4 y = rows[n + 1] & 0xFFFFu | rows[n + 3] << 16, w = rows[n + 1] >> 16 | rows[n + 3] & 0xFFFF0000u;
        rows[n] = x & 0x00FF00FFu | (y & 0x00FF00FFu) << 8;
        rows[n + 1] = x >> 8 & 0x00FF00FFu | y & 0xFF00FF00u;
        rows[n + 2] = z & 0x00FF00FFu | (w & 0x00FF00FFu) << 8;
        rows[n + 3] = z >> 8 & 0x00FF00FFu | w & 0xFF00FF00u;
    }
#elif WIDTH == 16
    [[unroll]] for (uint n = 0; n < ROWS; n += 2) {
        uvec4 x = rows[n], y = rows[n + 1];
        rows[n] = x & 0xFFFFu | y << 16;
        rows[n + 1] = x >> 16 | y & 0xFFFF0000u;
    }
#endif
}

// After transpose_squares: word n of the transposed row b.
uint word_at(uint b, uint n) {
    return rows[n / ELEMENT_WORDS * LANES + b % LANES][b / LANES * ELEMENT_WORDS + n % ELEMENT_WORDS];
}

// word_at(b, n) for a store. With 16 bits it goes through a select (selected.glsl). Elements of 32 bits and more need none,
// because they are stored as they were loaded; with bytes, a select makes a large matrix a fifth slower.
uint stored_word(uint b, uint n, uint row) { return WIDTH == 16 ? selected(word_at(b, n), row) : word_at(b, n); }

#ifdef ALIGNED

void read_row(uint n, uint row, uint b) { rows[n] = src4[(row + b) / B_BLOCK]; }

void write_row(uint n, uint row, uint a, uint end) {
    uint place = selected((row + a) / A_BLOCK, row);
    if (A_WORDS == 2) {
        dst2[place] = uvec2(stored_word(n, 0, row), stored_word(n, 1, row));
    } else {
        dst4[place] = uvec4(stored_word(n, 0, row), stored_word(n, 1, row), stored_word(n, 2, row), stored_word(n, 3, row));
    }
}

#else

// Loads the words of the elements from b on. In place of words past the end of the row it loads the last word of the row again; what
// these become is never written.
void read_row(uint n, uint row, uint b) {
    uint first = (row + b) / LANES * ELEMENT_WORDS;
    uint last = (row + dispatch.b_size - 1) / LANES * ELEMENT_WORDS + ELEMENT_WORDS - 1;
    uvec4 words = uvec4(0);
    [[unroll]] for (uint word = 0; word < 4; ++word) {
        if (word < B_WORDS) {
            words[word] = src[min(first + word, last)];
        }
    }
#if WIDTH < 32
    // Bytes 6 to 9 are the upper half of word 1 and the lower half of word 2. Two steps shift the next word by up to 32 bits.
    uint shift = (row + b) % LANES * WIDTH;
    uint after = src[min(first + B_WORDS, last)];
    uvec4 next = B_WORDS == 4 ? uvec4(words.yzw, after) : uvec4(after);
    words = words >> shift | next << 1 << (31 - shift);
#endif
    rows[n] = words;
}

// Stores the whole words of a row that begin in this block, up to element `end`.
void write_row(uint n, uint row, uint a, uint end) {
    uint first = (row + a + LANES - 1) / LANES;
    uint skipped = first * LANES - row - a;
    [[unroll]] for (uint word = 0; word < A_WORDS; ++word) {
        uint bits = word_at(n, word);
#if WIDTH < 32
        bits = selected(bits >> skipped * WIDTH | word_at(n, word + 1) << 1 << (31 - skipped * WIDTH), row);
#endif
        if (a + skipped + (word / ELEMENT_WORDS + 1) * LANES <= end) {
            dst[first * ELEMENT_WORDS + word] = bits;
        }
    }
}

#endif

void main() {
    load_axes();
    uint lane = gl_LocalInvocationID.x;
    uint row = lane * dispatch.per_across >> 16;
    uint box = row * dispatch.per_along >> 16;
    uint a = (gl_WorkGroupID.y * dispatch.across + lane - row * dispatch.across) * A_BLOCK;
    uint b = (gl_WorkGroupID.x * dispatch.along + row - box * dispatch.along) * B_BLOCK;
    uint index = gl_WorkGroupID.z * dispatch.deep + box;
    // Full dispatches skip this branch, because inside a branch llvmpipe tests for each load and store whether its lane is active.
    if (!FULL) {
        if (a >= dispatch.a_size || b >= dispatch.b_size || box >= dispatch.deep || index >= dispatch.indices) {
            return;
        }
    }
    Walk walk = walk_to(index);
    uint src_offset = walk.src;
    uint dst_offset = walk.dst;
    rows[ROWS - 1] = uvec4(0);
    [[unroll]] for (uint n = 0; n < READ_ROWS; ++n) {
        read_row(n, src_offset + along_a(min(a + n, dispatch.a_size - 1)), b);
    }
    transpose_squares();
    [[unroll]] for (uint n = 0; n < B_BLOCK; ++n) {
        uint end = b + n < dispatch.b_size ? dispatch.a_size : 0;
        write_row(n, dst_offset + along_b(b + n), a, end);
    }
}
