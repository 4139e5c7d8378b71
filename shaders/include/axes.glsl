// The axes of a strided problem, from the innermost (axis 0) to the outermost, each with its size and both strides.
//
// Strides are in elements and two's complement; destination strides are positive and, except for axis 0 of strided_copy.comp and
// short_rows.comp, ascend with k.
// An axis of size 1 exists only if it has a table or padding. It is outermost, and its destination stride exceeds every offset
// that the other axes reach, so both divisions give 0, as they must.
// RANK, the number of axes, is a specialization constant.
// PUSHED_AXES: size, strides and the division by the size of this many innermost axes are taken from `dispatch.axes`;
// compilers drop the unused loads from `parameters`. Copies have 14 % fewer memory instructions on a Mali-G610, and
// strided_copy_128 takes 0.7 of the cycles there. Divisions are exact for dividends below 2^31.
//
// This file depends on the global declarations of `parameters` (rows of uvec4) and `dispatch`. A kernel may define before it:
// PAD: some coordinates have no element of the source.
// BOXES: the kernel declares Header and Axis itself (crops.glsl).
// SKIPPED_AXES: if bit k is set, an index has no coordinate along axis k. The kernel gets that coordinate elsewhere,
// such as from the row of a block, and adds it with move_along.
// TABLES: the kernel defines src_along itself, and reads tables in it.

layout(constant_id = 15) const uint RANK = 0;

#ifndef SKIPPED_AXES
#define SKIPPED_AXES 0u
#endif

#include "shared_constants.glsl"
#include "division.glsl"

// The parameters begin with a Header and the axes. Plans give values to these members by name; the build reads the order of the
// members from the SPIR-V, for every struct that a function makes of rows, as header_of does. Rows are loaded whole, because some
// compilers load the members of a struct in a buffer word by word.
#ifndef BOXES
struct Header { uint rank; uvec3 unused; uvec2 divide_by_first, divide_by_second; };  // two divisions that some kernels need

Header header_of(uvec4 first, uvec4 second) { return Header(first.x, first.yzw, second.xy, second.zw); }

struct Axis {
    uint size, src_stride, dst_stride;
    uint table;  // the row of `parameters` where the table of the axis begins; 0 if it has none
    uvec2 divide_by_size, divide_by_dst_stride;
    uint slot;  // number among the resampled axes, counted from the last logical axis, plus 4 times its taps if its table has weights
#ifdef PAD
    uvec2 inside;  // the first coordinate that has an element of the source, and how many have one
#else
    uvec2 pairs;  // how many (scale, zero point) pairs a step moves, for the source (x) and the destination (y)
#endif
    uint unused;
};
#endif

Axis axis_of(uvec4 first, uvec4 second, uvec4 third) {
    return Axis(first.x, first.y, first.z, first.w, second.xy, second.zw, third.x, third.yz, third.w);
}

#define AXIS_ROW(k) (HEADER_ROWS + AXIS_ROWS * (k))
Header header;
Axis axes[MAX_AXES];

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
        axes[k].size = dispatch.axes[at]; \
        axes[k].src_stride = dispatch.axes[at + 1]; \
        axes[k].dst_stride = dispatch.axes[at + 2]; \
        axes[k].divide_by_size = uvec2(dispatch.axes[at + 3], dispatch.axes[at + 4]); \
    }
#else
#define TAKE_PUSHED(k)
#endif

// Loads all axes. Call it before any divergent code: llvmpipe loads a uniform value once per group while all lanes are active, but
// once per lane after a divergent return.
void load_axes() {
#ifndef BOXES  // crop kernels load their header after the axes: NVK then needs 32 registers for a crop, not 40
    header = header_of(parameters[0], parameters[1]);
#endif
#define LOAD_AXIS(k) \
    IF_AXIS(k) { \
        axes[k] = axis_of(parameters[AXIS_ROW(k)], parameters[AXIS_ROW(k) + 1], parameters[AXIS_ROW(k) + 2]); \
        TAKE_PUSHED(k) \
    }
    FOR_AXES_INWARD_OUT(LOAD_AXIS)
}

// The element offsets of some coordinates on both sides, and the positions of their pairs. Axes of sizes (3, 4), source strides
// (4, 1), destination strides (1, 3), bases 0: index 7 has the coordinates (1, 2), so src is 1 * 4 + 2 * 1 = 6 and dst is 7.
struct Walk {
    uint src, dst;
    uvec2 pairs;  // positions in `pairs` with SCALES; otherwise the sums of the coordinates times axes[k].pairs
    uint first;  // the coordinate along axis 0
#ifdef PAD
    bool is_inside;  // true if every coordinate is inside the source
#endif
#ifdef BOXES
    uvec2 table_row;  // the current rows in the tables of columns and of rows
    uint channel_and_row;  // the channel and, from bit ROW_BIT on, the row in the box
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
uint src_along(uint k, uint coordinate) { return coordinate * axes[k].src_stride; }
#endif

void move_along(inout Walk walk, uint k, uint coordinate) {
    walk.src += src_along(k, coordinate);
    walk.dst += coordinate * axes[k].dst_stride;
    walk.first = k == 0u ? coordinate : walk.first;
#ifdef PAD
    walk.is_inside = walk.is_inside && coordinate - axes[k].inside.x < axes[k].inside.y;
#else
    walk.pairs += coordinate * axes[k].pairs;
#endif
#ifdef BOXES
    walk.table_row += coordinate * uvec2(axes[k].column_step, axes[k].row_step);
    walk.channel_and_row += coordinate * axes[k].channel_and_row_step;
#endif
}

// Splits an index into coordinates, innermost first: index 7 of sizes (3, 4) is 7 - 3 * (7 / 3) = 1 along axis 0, and the rest, 2,
// is the coordinate along axis 1. The outermost axis needs no division.
Walk walk_to(uint index) {
    Walk walk = walk_start();
#define NEXT_COORDINATE(k) \
    if (RANK > k && (SKIPPED_AXES >> k & 1u) == 0u) { \
        uint rest = k + 1 == RANK ? 0u : multiply_shift(index, axes[k].divide_by_size); \
        move_along(walk, k, index - rest * axes[k].size); \
        index = rest; \
    }
    FOR_AXES_INWARD_OUT(NEXT_COORDINATE)
    return walk;
}
