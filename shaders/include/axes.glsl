// The axes of a strided problem, innermost (axis 0) to outermost, each with its size and both strides.
//
// SIZE(k), SRC(k), DST(k): elements; strides are two's complement, those of the destination positive and ascending with k.
// An axis of size 1, which only a table can keep, is outermost, with a destination stride past the reach of the others: both
//   divisions then give 0, as they must.
// TABLE(k): the row of `parameters` at which the axis's table starts, 0 for a plain axis. SLOT(k): which of the interpolated
//   axes it is, counted from the last logical axis.
// PAIRS(k), with SCALES: how far a step moves among the pairs of scale and zero point, for the source (x) and the destination.
// Generic form: read from the storage buffer `parameters`, three rows an axis after two rows of header. SPECIALISED form:
// specialization constants, so that the driver folds every division; one axis is constants 9 + 5 * k ... 13 + 5 * k, its pairs
// 69 + 2 * k and 70 + 2 * k.
// DIVIDE_BY_SIZE and DIVIDE_BY_DST are exact for dividends below 2^31.
//
// This file depends on the global declaration of `parameters` (rows of uvec4), and on VISIT_AXIS(k), defined by the kernel: what
// it does with `coordinate`, the coordinate along axis k.

#define MAX_AXES 12

#ifdef SPECIALISED

layout(constant_id = 8) const uint RANK = 0;
#define DECLARE_AXIS(k) \
    layout(constant_id = 9 + 5 * k) const uint SIZE_##k = 2; \
    layout(constant_id = 10 + 5 * k) const uint SRC_##k = 1; \
    layout(constant_id = 11 + 5 * k) const uint DST_##k = 1; \
    layout(constant_id = 12 + 5 * k) const uint TABLE_##k = 0; \
    layout(constant_id = 13 + 5 * k) const uint SLOT_##k = 0;
#ifdef SCALES
#define DECLARE_PAIRS(k) \
    layout(constant_id = 69 + 2 * k) const uint SRC_PAIR_##k = 0; \
    layout(constant_id = 70 + 2 * k) const uint DST_PAIR_##k = 0;
DECLARE_PAIRS(0) DECLARE_PAIRS(1) DECLARE_PAIRS(2) DECLARE_PAIRS(3) DECLARE_PAIRS(4) DECLARE_PAIRS(5)
DECLARE_PAIRS(6) DECLARE_PAIRS(7) DECLARE_PAIRS(8) DECLARE_PAIRS(9) DECLARE_PAIRS(10) DECLARE_PAIRS(11)
#define PAIRS(k) uvec2(SRC_PAIR_##k, DST_PAIR_##k)
#endif
DECLARE_AXIS(0) DECLARE_AXIS(1) DECLARE_AXIS(2) DECLARE_AXIS(3) DECLARE_AXIS(4) DECLARE_AXIS(5)
DECLARE_AXIS(6) DECLARE_AXIS(7) DECLARE_AXIS(8) DECLARE_AXIS(9) DECLARE_AXIS(10) DECLARE_AXIS(11)
#define SIZE(k) SIZE_##k
#define SRC(k) SRC_##k
#define DST(k) DST_##k
#define TABLE(k) TABLE_##k
#define SLOT(k) SLOT_##k
#define DIVIDE_BY_SIZE(n, k) ((n) / SIZE_##k)
#define DIVIDE_BY_DST(n, k) ((n) / DST_##k)

// Unrolled: each IF_AXIS is decided when the pipeline is made, and its body sees constants.
#define IF_AXIS(k) if (RANK > k)
#define FOR_AXES_INWARD_OUT(VISIT) \
    VISIT(0) VISIT(1) VISIT(2) VISIT(3) VISIT(4) VISIT(5) VISIT(6) VISIT(7) VISIT(8) VISIT(9) VISIT(10) VISIT(11)
#define FOR_AXES_OUTWARD_IN(VISIT) \
    VISIT(11) VISIT(10) VISIT(9) VISIT(8) VISIT(7) VISIT(6) VISIT(5) VISIT(4) VISIT(3) VISIT(2) VISIT(1) VISIT(0)

#else

#include "division.glsl"

#define RANK parameters[0].x
#define AXIS_ROW(k) (2 + 3 * (k))
#define SIZE(k) axis_walk.x
#define SRC(k) axis_walk.y
#define DST(k) axis_walk.z
#define TABLE(k) axis_walk.w
#define SLOT(k) parameters[AXIS_ROW(k) + 2].x
#define PAIRS(k) parameters[AXIS_ROW(k) + 2].yz
#define DIVIDE_BY_SIZE(n, k) multiply_shift(n, axis_divisors.xy)
#define DIVIDE_BY_DST(n, k) multiply_shift(n, axis_divisors.zw)

// A loop, not the unrolled form: llvmpipe has no branches around an `if`, so twelve steps would cost twelve, whatever RANK.
#define IF_AXIS(k)
#define LOAD_AXIS(k) \
    uvec4 axis_walk = parameters[AXIS_ROW(k)]; \
    uvec4 axis_divisors = parameters[AXIS_ROW(k) + 1];
#define FOR_AXES_INWARD_OUT(VISIT) \
    for (uint axis = 0; axis < RANK; ++axis) { \
        LOAD_AXIS(axis) \
        VISIT(axis) \
    }
#define FOR_AXES_OUTWARD_IN(VISIT) \
    for (uint axis = RANK; axis-- > 0;) { \
        LOAD_AXIS(axis) \
        VISIT(axis) \
    }

#endif

// From an index to its coordinates, visiting each, and the destination offset.
// Index 7 of sizes (3, 4) is coordinates (1, 3): 7 - 4 * (7 / 4) = 3 on axis 0, then 1 on axis 1.
#define NEXT_COORDINATE(k) \
    IF_AXIS(k) { \
        uint rest = DIVIDE_BY_SIZE(index, k); \
        uint coordinate = index - rest * SIZE(k); \
        dst_offset += coordinate * DST(k); \
        VISIT_AXIS(k) \
        index = rest; \
    }
#define FOR_COORDINATES_OF_INDEX FOR_AXES_INWARD_OUT(NEXT_COORDINATE)
