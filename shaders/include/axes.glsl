// The axes of a strided problem, innermost (axis 0) to outermost, each with its size and both strides.
//
// SIZE(k), SRC(k), DST(k): elements; strides are two's complement, those of the destination positive and, but for
//   axis 0 of strided_copy.comp, ascending with k.
// An axis of size 1, which only a table or padding can keep, is outermost, with a destination stride past the reach of the others: both
//   divisions then give 0, as they must.
// TABLE(k): the row of `parameters` at which the axis's table starts, 0 for a plain axis. SLOT(k): which of the interpolated
//   axes it is, counted from the last logical axis.
// PAIRS(k), with SCALES: how far a step moves among the pairs of scale and zero point, for the source (x) and the destination.
// START(k), COUNT(k), with PAD: the first coordinate along the axis that has an element of the source, and how many have one.
// They are rows of the storage buffer `parameters`, three an axis after two of header; how many there are, RANK, is compiled in.
// DIVIDE_BY_SIZE and DIVIDE_BY_DST are exact for dividends below 2^31.
//
// This file depends on the global declaration of `parameters` (rows of uvec4), and on VISIT_AXIS(k), defined by the kernel: what
// it does with `coordinate`, the coordinate along axis k.

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

// Unrolled: each IF_AXIS is decided when the pipeline is made.
#define IF_AXIS(k) if (RANK > k)
#define FOR_AXES_INWARD_OUT(VISIT) \
    VISIT(0) VISIT(1) VISIT(2) VISIT(3) VISIT(4) VISIT(5) VISIT(6) VISIT(7) VISIT(8) VISIT(9) VISIT(10) VISIT(11)
#define FOR_AXES_OUTWARD_IN(VISIT) \
    VISIT(11) VISIT(10) VISIT(9) VISIT(8) VISIT(7) VISIT(6) VISIT(5) VISIT(4) VISIT(3) VISIT(2) VISIT(1) VISIT(0)

// Called before anything that not all invocations do: llvmpipe then loads a word once for all of them, else for each.
void load_axes() {
#define LOAD_AXIS(k) \
    IF_AXIS(k) { \
        axis_walk[k] = parameters[AXIS_ROW(k)]; \
        axis_divisors[k] = parameters[AXIS_ROW(k) + 1]; \
        axis_more[k] = parameters[AXIS_ROW(k) + 2]; \
    }
    FOR_AXES_INWARD_OUT(LOAD_AXIS)
}

// From an index to its coordinates, visiting each, and the destination offset.
// Index 7 of sizes (3, 4) is coordinates (1, 3): 7 - 4 * (7 / 4) = 3 on axis 0, then 1 on axis 1, with no division: behind the
// outermost axis nothing is left.
#define NEXT_COORDINATE(k) \
    IF_AXIS(k) { \
        uint rest = k + 1 == RANK ? 0u : DIVIDE_BY_SIZE(index, k); \
        uint coordinate = index - rest * SIZE(k); \
        dst_offset += coordinate * DST(k); \
        VISIT_AXIS(k) \
        index = rest; \
    }
#define FOR_COORDINATES_OF_INDEX FOR_AXES_INWARD_OUT(NEXT_COORDINATE)
