// Elements of 8 bits choose entries of a table, whose bits they become.
//
// The table follows the axes in `parameters`: rows of 256 entries, a word each, or two words if an entry has 64 bits. PAIRS(k).x is
// how many rows a step along axis k moves. Row 1, element 7, entries of a word: word 256 + 7 of the table.
#version 450
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 128) in;

#define PUSH_ROWS
#include "buffers.glsl"
#include "dispatch.glsl"
#include "axes.glsl"
#include "elements.glsl"
#include "destination.glsl"

const uint ENTRY_WORDS = BITS == 64 ? 2 : 1;

uvec2 entry(uint row, uint element) {
    uint word = 4 * AXIS_ROW(RANK) + (row * 256 + element) * ENTRY_WORDS;
    return uvec2(words[word], words[word + ENTRY_WORDS - 1]);
}

uvec2 element_bits(Walk walk) {
    return entry(dispatch.first_row + walk.pairs.x, field(src[walk.src / 4], walk.src % 4, 8));
}

void main() {
    load_axes();
    write_piece(invocation_number());
}
