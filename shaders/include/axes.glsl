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
// In the storage buffer `parameters`, each axis is three rows, after two rows of header. RANK, the number of axes, is a
// specialization constant.
// DIVIDE_BY_SIZE and DIVIDE_BY_DST are exact for dividends below 2^31.
//
// This file depends on the global declaration of `parameters` (rows of uvec4), and on VISIT_AXIS(k), which the kernel defines to
// use `coordinate`, the coordinate along axis k.

#define MAX_AXES 12

layout(constant_id = 15) const uint RANK = 0;

#include "division.glsl"

#define AXIS_ROW(k) (2 + 3 * (k))
uvec4 axis_walk[MAX_AXES];
uvec4 axis_divisors[MAX_AXES];
uvec4 axis_more[MAX_AXES];
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

// Unrolled loops: each IF_AXIS is decided when the pipeline is created.
#define IF_AXIS(k) if (RANK > k)
#define FOR_AXES_INWARD_OUT(VISIT) \
    VISIT(0) VISIT(1) VISIT(2) VISIT(3) VISIT(4) VISIT(5) VISIT(6) VISIT(7) VISIT(8) VISIT(9) VISIT(10) VISIT(11)
#define FOR_AXES_OUTWARD_IN(VISIT) \
    VISIT(11) VISIT(10) VISIT(9) VISIT(8) VISIT(7) VISIT(6) VISIT(5) VISIT(4) VISIT(3) VISIT(2) VISIT(1) VISIT(0)

// Loads all axes. Call it before any divergent code: llvmpipe then loads each word once for all invocations, not once for each.
void load_axes() {
#define LOAD_AXIS(k) \
    IF_AXIS(k) { \
        axis_walk[k] = parameters[AXIS_ROW(k)]; \
        axis_divisors[k] = parameters[AXIS_ROW(k) + 1]; \
        axis_more[k] = parameters[AXIS_ROW(k) + 2]; \
    }
    FOR_AXES_INWARD_OUT(LOAD_AXIS)
}

// Splits `index` into coordinates, visits each axis, and adds up the destination offset.
// Sizes (3, 4), index 7: 7 - 4 * (7 / 4) = 3 on axis 0; the rest, 1, is the coordinate on axis 1. The outermost axis needs no
// division.
#define NEXT_COORDINATE(k) \
    IF_AXIS(k) { \
        uint rest = k + 1 == RANK ? 0u : DIVIDE_BY_SIZE(index, k); \
        uint coordinate = index - rest * SIZE(k); \
        dst_offset += coordinate * DST(k); \
        VISIT_AXIS(k) \
        index = rest; \
    }
#define FOR_COORDINATES_OF_INDEX FOR_AXES_INWARD_OUT(NEXT_COORDINATE)
