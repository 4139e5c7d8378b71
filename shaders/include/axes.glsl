// The axes of a strided problem, innermost (axis 0) to outermost, each with its size and both strides.
//
// SIZE(k), SRC(k), DST(k): elements; strides are two's complement. No axis has size 1, destination strides are positive and
//   ascend with k. TABLE(k): where in `parameters` the axis's table starts, 0 for a plain axis. SLOT(k): which of the
//   interpolated axes it is, counted from the last logical axis.
// Generic form: read from the storage buffer `parameters`. SPECIALISED form: specialization constants, so that the driver
// folds every division; one axis is constants 9 + 5 * k ... 13 + 5 * k.
// DIVIDE_BY_SIZE and DIVIDE_BY_DST are exact for dividends below 2^31 (see plan/parameters.py):
//   16 / 5: multiplier ceil(2^34 / 5) = 3435973837, (16 * 3435973837) >> 32 = 12, 12 >> 2 = 3.
//
// This file depends on the global declaration of `parameters` (uint[]).

#define MAX_AXES 12

#ifdef SPECIALISED

layout(constant_id = 8) const uint RANK = 0;
#define DECLARE_AXIS(k) \
    layout(constant_id = 9 + 5 * k) const uint SIZE_##k = 2; \
    layout(constant_id = 10 + 5 * k) const uint SRC_##k = 1; \
    layout(constant_id = 11 + 5 * k) const uint DST_##k = 1; \
    layout(constant_id = 12 + 5 * k) const uint TABLE_##k = 0; \
    layout(constant_id = 13 + 5 * k) const uint SLOT_##k = 0;
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

#define RANK parameters[0]
#define AXIS_WORD(k, field) parameters[8 + 9 * (k) + field]
#define SIZE(k) AXIS_WORD(k, 0)
#define SRC(k) AXIS_WORD(k, 1)
#define DST(k) AXIS_WORD(k, 2)
#define TABLE(k) AXIS_WORD(k, 3)
#define SLOT(k) AXIS_WORD(k, 4)
#define DIVIDE_BY_SIZE(n, k) multiply_shift(n, AXIS_WORD(k, 5), AXIS_WORD(k, 6))
#define DIVIDE_BY_DST(n, k) multiply_shift(n, AXIS_WORD(k, 7), AXIS_WORD(k, 8))

uint multiply_shift(uint n, uint multiplier, uint shift) {
    uint high, low;
    umulExtended(n, multiplier, high, low);
    return high >> shift;
}

// A loop, not the unrolled form: llvmpipe has no branches around an `if`, so twelve steps would cost twelve, whatever RANK.
#define IF_AXIS(k)
#define FOR_AXES_INWARD_OUT(VISIT) \
    for (uint axis = 0; axis < RANK; ++axis) { \
        VISIT(axis) \
    }
#define FOR_AXES_OUTWARD_IN(VISIT) \
    for (uint axis = RANK; axis-- > 0;) { \
        VISIT(axis) \
    }

#endif
