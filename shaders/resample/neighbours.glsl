// The ELEMENTS adjacent elements of the destination that an invocation computes in a row, each with its source offset.
//
// ALONG_AXIS_0: neighbours differ along axis 0 alone, so that the other axes are walked once for all of them. Otherwise each
// neighbour has a walk of its own. No walk includes the axis of the rows.
// This file depends on blocks.glsl, TABLED and MAX_ELEMENTS.

layout(constant_id = 1) const uint ELEMENTS = 1;
layout(constant_id = 7) const uint ROW_AXIS = 1;
layout(constant_id = 8) const uint TABLED = 0;  // bit k: axis k has a table
layout(constant_id = 9) const bool ALONG_AXIS_0 = false;  // ELEMENTS divides the size of axis 0
layout(constant_id = 10) const uint ROWS = 8;  // rows that an invocation computes

#define SKIPPED_AXES (1u << ROW_AXIS | uint(ALONG_AXIS_0))
#define TABLES
#include "axes.glsl"
#include "blocks.glsl"
#include "elements.glsl"

Walk walks[MAX_ELEMENTS];

void walk_to_neighbours(Place place) {
    uint index = (place.outer * dispatch.row_pieces + place.piece) * ELEMENTS;
#ifdef CELLS
    uint rest = ROW_AXIS == 1u ? place.outer : multiply_shift(index, axes[0].divide_by_size);
#else
    uint rest = ALONG_AXIS_0 ? multiply_shift(index, axes[0].divide_by_size) : index;
#endif
    Walk shared_walk = walk_to(rest);
    [[unroll]] for (uint lane = 0u; lane < MAX_ELEMENTS; ++lane) {
        if (lane < ELEMENTS) {
            walks[lane] = shared_walk;
            if (ALONG_AXIS_0) {
                move_along(walks[lane], 0u, index - rest * axes[0].size + lane);
            } else if (lane > 0u) {
                walks[lane] = walk_to(index + lane);
            }
#ifdef WEIGHTS
            weights[lane] = found;
#endif
        }
    }
}
