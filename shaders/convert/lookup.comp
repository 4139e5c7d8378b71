// Replaces each element of 8 bits by an entry of a table: entry `element` of a row.
//
// The table follows the axes in `parameters`: rows of 256 entries, each a word, or two words if an entry has 64 bits.
// axes[k].pairs.x is how many rows of the table a step along axis k moves. Row 1, element 7, entries of a word: word 256 + 7 of the table.
//
// QUADS: four pixels at a time, neighbours along axis 0. A pixel has PLANES elements, which are side by side in the source. In the
//   destination four pixels are a quad in each plane or, if INTERLEAVED, quads one after another. Axis 0 counts pixels.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "shared_constants.glsl"
layout(local_size_x = GROUP_SIZE) in;

#define PUSH_TABLE
#include "buffers.glsl"
#include "dispatch.glsl"
#include "axes.glsl"

#ifdef QUADS

#include "quads.glsl"

layout(constant_id = 0) const uint BITS = 32;  // bits of an entry: 8, 16 or 32
layout(constant_id = 1) const uint EACH = 1;   // quads of an invocation, which are neighbours
layout(constant_id = 2) const uint PLANES = 1;
layout(constant_id = 3) const bool INTERLEAVED = false;
layout(constant_id = 4) const uint COPIES = 1;  // how often every quad is stored, copy_stride apart

// Rows of axis 0 are not whole quads: a quad may begin in one row and end in the next, which follows it in the destination. With
// rows of 14 pixels, the quad that begins at pixel 12 ends with the first two pixels of the next row.
layout(constant_id = 5) const bool CROSSES = false;

// The elements of four pixels are PLANES whole words of the source.
layout(constant_id = 6) const bool WIDE = false;

// Quads of the destination begin at multiples of four elements. If false, they may begin anywhere: only with entries of 32 bits.
layout(constant_id = 7) const bool WHOLE_STORES = true;

// No axis changes the row of the table; rows differ at most from plane to plane.
layout(constant_id = 8) const bool ROWS_OF_PLANES = false;

const uint MAX_PLANES = 4, MAX_COPIES = 4;
const uint ENTRY_WORDS = 1;

#else

#include "elements.glsl"
#include "destination.glsl"

const uint ENTRY_WORDS = BITS == 64 ? 2 : 1;

#endif

// The index of the first word of an entry: the lowest 8 bits of `element` choose it.
uint place_of_entry(uint row, uint element) {
    return 4 * AXIS_ROW(RANK) + (row * 256 + (element & 0xFF)) * ENTRY_WORDS;
}

#ifdef QUADS

uint pixels[4];  // the elements of each pixel, the first one in the lowest bits

void load_pixels(Walk walk) {
    if (WIDE) {
        uint run[MAX_PLANES + 1];
        [[unroll]] for (uint n = 0; n <= MAX_PLANES; ++n) {
            run[n] = n < PLANES ? src[walk.src / 4 + n] : 0;
        }
        [[unroll]] for (uint lane = 0; lane < 4; ++lane) {
            uint first = lane * PLANES;
            pixels[lane] = funnel(run[first / 4], run[first / 4 + 1], first % 4 * 8);
        }
        return;
    }
    [[unroll]] for (uint lane = 0; lane < 4; ++lane) {
        uint offset = walk.src + lane * dispatch.lane_stride;
        if (CROSSES && walk.first + lane >= axes[0].size) {
            offset += axes[1].src_stride - axes[0].size * axes[0].src_stride;
        }
        uint low = src[selected(offset / 4, offset)];
        uint high = PLANES == 1 ? 0 : src[selected((offset + PLANES - 1) / 4, offset)];
        pixels[lane] = funnel(low, high, offset % 4 * 8);
    }
}

uint entry(Walk walk, uint lane, uint plane) {
    uint row = dispatch.table_row + plane * dispatch.plane_row;
    row += ROWS_OF_PLANES ? 0 : walk.pairs.x + lane * dispatch.lane_row;
    return words[selected(place_of_entry(row, pixels[lane] >> plane * 8), walk.dst)];
}

void store_elements(uint offset, uvec4 quad) {
    if (!WHOLE_STORES && BITS == 32) {
        quad = selected(quad, offset);
        [[unroll]] for (uint n = 0; n < 4; ++n) {
            dst[offset + n] = quad[n];
        }
    } else {
        store_quad(offset, quad, BITS);
    }
}

// Stores four entries: those of plane n, or elements 4n to 4n + 3 of the interleaved pixels. With three elements a pixel, the
// second quad begins with element 1 of pixel 1.
void write_quad(Walk walk, uint n) {
    uvec4 quad;
    [[unroll]] for (uint k = 0; k < 4; ++k) {
        quad[k] = INTERLEAVED ? entry(walk, (4 * n + k) / PLANES, (4 * n + k) % PLANES) : entry(walk, k, n);
    }
    uint offset = walk.dst + n * (INTERLEAVED ? 4 : dispatch.plane_stride);
    [[unroll]] for (uint copy = 0; copy < MAX_COPIES; ++copy) {
        if (copy < COPIES) {
            store_elements(offset + copy * dispatch.copy_stride, quad);
        }
    }
}

void write_pixels(uint index) {
    if (index >= dispatch.pieces) {
        return;
    }
    Walk walk = walk_to(4 * index);
    load_pixels(walk);
    [[unroll]] for (uint n = 0; n < MAX_PLANES; ++n) {
        if (n < PLANES) {
            write_quad(walk, n);
        }
    }
}

void main() {
    load_axes();
    uint first = invocation_number() * EACH;
    if (EACH == 1) {
        write_pixels(first);
        return;
    }
    [[dont_unroll]] for (uint n = 0; n < EACH; ++n) {
        write_pixels(first + n);
    }
}

#else

uvec2 element_bits(Walk walk) {
    uint element = field(src[walk.src / 4], walk.src % 4, 8);
    uint place = place_of_entry(dispatch.table_row + walk.pairs.x, element);
    return uvec2(words[place], words[place + ENTRY_WORDS - 1]);
}

void main() {
    load_axes();
    write_piece(invocation_number());
}

#endif
