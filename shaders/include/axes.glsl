// The axes of a strided problem, from the innermost (axis 0) to the outermost, each with its size and both strides.
//
// SIZE(k), SRC(k), DST(k): size, source stride and destination stride, in elements. Strides are two's complement; destination
//   strides are positive and, except for axis 0 of strided_copy.comp and short_rows.comp, ascend with k.
// An axis of size 1 exists only if it has a table or padding. It is outermost, and its destination stride exceeds every offset
//   that the other axes reach, so both divisions give 0, as they must.
// TABLE(k): the row of `parameters` where the table of the axis starts; 0 if it has none.
// SLOT(k): the number of the axis among the resampled ones, counted from the last logical axis, plus 4 times its taps if its
//   table has weights.
// PAIRS(k), with SCALES: how many (scale, zero point) pairs a step moves, for the source (x) and the destination (y).
// START(k), COUNT(k), with PAD: the first coordinate along the axis that has an element of the source, and how many have one.
// With BOXES, word 3 of an axis's first row and word 0 of its third row are how far a step moves in the tables of
// columns and of rows. Word 3 of the third row is how far it moves among the channels and, in its upper half, among the
// rows of a box. In the storage buffer `parameters`, each axis is three rows, after two rows of header. RANK, the
// number of axes, is a specialization constant.
// PUSHED_AXES: SIZE, SRC, DST and the division by the size of this many innermost axes are taken from `dispatch.axes`;
// compilers drop the unused loads from `parameters`. Copies have 14 % fewer memory instructions on a Mali-G610, and
// strided_copy_128 takes 0.7 of the cycles there. DIVIDE_BY_SIZE and DIVIDE_BY_DST are exact for dividends below 2^31.
//
// This file depends on the global declarations of `parameters` (rows of uvec4) and `dispatch`. A kernel may define before it:
// SKIPPED_AXES: if bit k is set, an index has no coordinate along axis k. The kernel gets that coordinate elsewhere,
// such as from the row of a block, and adds it with move_along.
// TABLES: the kernel defines src_along itself, and reads tables in it.

layout(constant_id = 15) const uint RANK = 0;

#ifndef SKIPPED_AXES
#define SKIPPED_AXES 0u
#endif

#include "shared_constants.glsl"
#include "division.glsl"

#define AXIS_ROW(k) (HEADER_ROWS + AXIS_ROWS * (k))
uvec4 axis_walk[MAX_AXES];
uvec4 axis_divisors[MAX_AXES];
uvec4 axis_more[MAX_AXES];
uvec4 divisors;  // the second row of the header: numbers for two divisions that some kernels need
#define SIZE(k) axis_walk[k].x
#define SRC(k) axis_walk[k].y
#define DST(k) axis_walk[k].z
#define TABLE(k) axis_walk[k].w
#define SLOT(k) axis_more[k].x
#define PAIRS(k) axis_more[k].yz
#define START(k) axis_more[k].y
#define COUNT(k) axis_more[k].z
#define DIVIDE_BY_SIZE(n, k) multiply_shift(n, axis_divisors[k].xy)
#define DIVIDE_BY_DST(n, k) multiply_shift(n, axis_divisors[k].zw)

// These loops are unrolled, and each IF_AXIS is decided when the pipeline is created.
#define IF_AXIS(k) if (RANK > k)
#define FOR_AXES_INWARD_OUT(VISIT) \
    VISIT(0) VISIT(1) VISIT(2) VISIT(3) VISIT(4) VISIT(5) VISIT(6) VISIT(7) VISIT(8) VISIT(9) VISIT(10) VISIT(11)
#define FOR_AXES_OUTWARD_IN(VISIT) \
    VISIT(11) VISIT(10) VISIT(9) VISIT(8) VISIT(7) VISIT(6) VISIT(5) VISIT(4) VISIT(3) VISIT(2) VISIT(1) VISIT(0)

#ifdef PUSHED_AXES
#define TAKE_PUSHED(k) \
    if (k < PUSHED_AXES) { \
        const int at = 5 * min(k, PUSHED_AXES - 1); \
        axis_walk[k].xyz = uvec3(dispatch.axes[at], dispatch.axes[at + 1], dispatch.axes[at + 2]); \
        axis_divisors[k].xy = uvec2(dispatch.axes[at + 3], dispatch.axes[at + 4]); \
    }
#else
#define TAKE_PUSHED(k)
#endif

// Loads all axes. Call it before any divergent code: llvmpipe loads a uniform value once per group while all lanes are active, but
// once per lane after a divergent return.
void load_axes() {
    divisors = parameters[1];
#define LOAD_AXIS(k) \
    IF_AXIS(k) { \
        axis_walk[k] = parameters[AXIS_ROW(k)]; \
        axis_divisors[k] = parameters[AXIS_ROW(k) + 1]; \
        axis_more[k] = parameters[AXIS_ROW(k) + 2]; \
        TAKE_PUSHED(k) \
    }
    FOR_AXES_INWARD_OUT(LOAD_AXIS)
}

// The element offsets of some coordinates on both sides, and the positions of their pairs. Axes of sizes (3, 4), source strides
// (4, 1), destination strides (1, 3), bases 0: index 7 has the coordinates (1, 2), so src is 1 * 4 + 2 * 1 = 6 and dst is 7.
struct Walk {
    uint src, dst;
    uvec2 pairs;  // positions in `pairs` with SCALES; otherwise the sums of the coordinates times PAIRS(k)
    uint first;  // the coordinate along axis 0
#ifdef PAD
    bool is_inside;  // true if every coordinate is inside the source
#endif
#ifdef BOXES
    uvec2 table_row;  // the current rows in the tables of columns and of rows
    uint channel_and_row;  // the channel in the lower half, the row of its box in the upper half
#endif
};

Walk walk_start() {
    Walk walk;
#ifdef FILL
    walk.src = 0u;
#else
    walk.src = dispatch.src_base;
#endif
    walk.dst = dispatch.dst_base;
    walk.first = 0u;
#ifdef SCALES
    walk.pairs = uvec2(dispatch.src_pairs, dispatch.dst_pairs);
#else
    walk.pairs = uvec2(0u);
#endif
#ifdef PAD
    walk.is_inside = true;
#endif
#ifdef BOXES
    walk.table_row = uvec2(0u);
    walk.channel_and_row = 0u;
#endif
    return walk;
}

// The number of source elements from coordinate 0 of axis k to `coordinate`.
#ifdef TABLES
uint src_along(uint k, uint coordinate);
#else
uint src_along(uint k, uint coordinate) { return coordinate * SRC(k); }
#endif

void move_along(inout Walk walk, uint k, uint coordinate) {
    walk.src += src_along(k, coordinate);
    walk.dst += coordinate * DST(k);
    walk.pairs += coordinate * PAIRS(k);
    walk.first = k == 0u ? coordinate : walk.first;
#ifdef PAD
    walk.is_inside = walk.is_inside && coordinate - START(k) < COUNT(k);
#endif
#ifdef BOXES
    walk.table_row += coordinate * uvec2(axis_walk[k].w, axis_more[k].x);
    walk.channel_and_row += coordinate * axis_more[k].w;
#endif
}

// Splits an index into coordinates, innermost first: index 7 of sizes (3, 4) is 7 - 3 * (7 / 3) = 1 along axis 0, and the rest, 2,
// is the coordinate along axis 1. The outermost axis needs no division.
Walk walk_to(uint index) {
    Walk walk = walk_start();
#define NEXT_COORDINATE(k) \
    if (RANK > k && (SKIPPED_AXES >> k & 1u) == 0u) { \
        uint rest = k + 1 == RANK ? 0u : DIVIDE_BY_SIZE(index, k); \
        move_along(walk, k, index - rest * SIZE(k)); \
        index = rest; \
    }
    FOR_AXES_INWARD_OUT(NEXT_COORDINATE)
    return walk;
}
