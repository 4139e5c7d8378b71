// The axes of a strided problem, from the innermost (axis 0) to the outermost, each with its size and both strides.
//
// Strides are in elements and two's complement; destination strides are positive and, except for axis 0 of strided_copy.comp and
// short_rows.comp, ascend with k.
// An axis of size 1 exists only if it has a table or padding. It is outermost, and its destination stride exceeds every offset
// that the other axes reach, so both divisions give 0, as they must.
// RANK, the number of axes, is a specialization constant.
// PUSHED_AXES: SIZE, SRC, DST and the division by the size of this many innermost axes are taken from `dispatch.axes`;
// compilers drop the unused loads from `parameters`. Copies have 14 % fewer memory instructions on a Mali-G610, and
// strided_copy_128 takes 0.7 of the cycles there. DIVIDE_BY_SIZE and DIVIDE_BY_DST are exact for dividends below 2^31.
//
// This file depends on parameters.glsl and the global declaration of `dispatch`. A kernel may define before it:
// PAD: some coordinates of an axis have no element of the source.
// BOXES: the rows of tables, and fill, depend on the box; see crops.glsl.
// SKIPPED_AXES: if bit k is set, an index has no coordinate along axis k. The kernel gets that coordinate elsewhere,
// such as from the row of a block, and adds it with move_along.
// TABLES: the kernel defines src_along itself, and reads tables in it.

layout(constant_id = 15) const uint RANK = 0;

#ifndef SKIPPED_AXES
#define SKIPPED_AXES 0u
#endif

#include "shared_constants.glsl"
#include "division.glsl"

// The parameters begin with a header and the axes. The plans give the values by the names of the members, and the build reads
// their order from the SPIR-V, as for push constants. A division is the multiplier and the shift of multiply_shift.
#ifdef BOXES
struct Header {
    uint rank;
    uint fill_at;  // index in `words` of the fill of channel 0
    uvec2 taps;    // of a row of the table of columns (x), and of rows (y)
    uint column_table, column_stride;  // first word of the table of columns; source elements from tap to tap
    uint row_table, row_stride;        // the same for rows
};
#else
struct Header {
    uint rank;
    uint unused[3];
    uvec2 divide_by_first, divide_by_second;  // two divisions that some kernels need
};
#endif

struct Axis {
    uint size, src_stride, dst_stride;
#ifdef BOXES
    uint column_step;  // how many rows of the table of columns a step moves
#else
    uint table;  // the row of `parameters` where the table of the axis begins; 0 if it has none
#endif
    uvec2 divide_by_size, divide_by_dst_stride;
#ifdef BOXES
    uint row_step;  // how many rows of the table of rows a step moves
#else
    uint slot;  // number of the axis among the resampled ones, counted from the last logical axis; plus 4 times its taps if it has any
#endif
#ifdef PAD
    uint inside_begin, inside_count;  // the first coordinate that has an element of the source, and how many have one
#else
    uint src_pairs, dst_pairs;  // how many (scale, zero point) pairs a step moves
#endif
#ifdef BOXES
    uint channel_and_row_step;  // among the channels of fill and, from ROW_BIT on, among the rows of a box
#else
    uint unused;
#endif
};

layout(std430, binding = PARAMETERS) readonly buffer Problem {
    Header header;
    Axis axes[];
} problem;

#define AXIS_ROW(k) (HEADER_ROWS + AXIS_ROWS * (k))  // the row of `parameters` where axis k begins, and with RANK the tables

Header header;
Axis axis_of[MAX_AXES];
#define SIZE(k) axis_of[k].size
#define SRC(k) axis_of[k].src_stride
#define DST(k) axis_of[k].dst_stride
#define TABLE(k) axis_of[k].table
#define SLOT(k) axis_of[k].slot
#define PAIRS(k) uvec2(axis_of[k].src_pairs, axis_of[k].dst_pairs)
#define DIVIDE_BY_SIZE(n, k) multiply_shift(n, axis_of[k].divide_by_size)
#define DIVIDE_BY_DST(n, k) multiply_shift(n, axis_of[k].divide_by_dst_stride)

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
        SIZE(k) = dispatch.axes[at]; \
        SRC(k) = dispatch.axes[at + 1]; \
        DST(k) = dispatch.axes[at + 2]; \
        axis_of[k].divide_by_size = uvec2(dispatch.axes[at + 3], dispatch.axes[at + 4]); \
    }
#else
#define TAKE_PUSHED(k)
#endif

// Loads all axes. Call it before any divergent code: llvmpipe loads a uniform value once per group while all lanes are active, but
// once per lane after a divergent return.
void load_axes() {
    header = problem.header;
#define LOAD_AXIS(k) \
    IF_AXIS(k) { \
        axis_of[k] = problem.axes[k]; \
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
    uint channel_and_row;  // see first_channel and row_of_box
#endif
};

#ifdef BOXES
uint first_channel(uint channel_and_row) { return channel_and_row & (1u << ROW_BIT) - 1u; }

uint row_of_box(uint channel_and_row) { return channel_and_row >> ROW_BIT; }
#endif

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
#ifndef PAD
    walk.pairs += coordinate * PAIRS(k);
#endif
    walk.first = k == 0u ? coordinate : walk.first;
#ifdef PAD
    walk.is_inside = walk.is_inside && coordinate - axis_of[k].inside_begin < axis_of[k].inside_count;
#endif
#ifdef BOXES
    walk.table_row += coordinate * uvec2(axis_of[k].column_step, axis_of[k].row_step);
    walk.channel_and_row += coordinate * axis_of[k].channel_and_row_step;
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
