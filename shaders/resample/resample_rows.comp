// Resampling by rows: an invocation computes ELEMENTS neighbours of each of ROWS rows, and sums along the inner axes once for each
// source row.
//
// A row is one step along the axis of the last slot; the other slots are the inner ones. The kernel keeps the sums of the last TAPS
// source rows along the inner slots, because the next row may need them again: enlarged nine times, a source row is summed once,
// not 18 times. The bits are those of resample.comp, except for the sign of a NaN, which a compiler may choose.
// Weights along the inner axes are loaded once, weights along the rows once for each row: on llvmpipe a load costs as much as ten
// sums. Neighbours are whole words of the destination: four elements if they fit, eight with RUNS, or two where four would read
// elements that are far apart.
// RUNS: the elements that the neighbours read along axis 0 are a run of the source, loaded once for all of them.
// CELLS, with RUNS: along every resampled axis, each output reads a cell of the same size, with the same weights, at a fixed distance
// from the one before. So the first two rows of each table describe all cells, and are loaded once for all invocations; no sum is
// kept. A run is four cells and begins at a word.
//   Halved by mode area, output (y, x) is the mean of a cell: rows 2 y and 2 y + 1, columns 2 x and 2 x + 1.
// FIXED: sums of integers, see taps.glsl; without RUNS.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "shared_constants.glsl"
layout(local_size_x = GROUP_SIZE) in;

#define PUSH_BLOCKS
#ifdef CELLS
#define ALL_ADD true  // no weight is zero
#endif
#include "buffers.glsl"
#include "scales.glsl"
#include "taps.glsl"
#include "quads.glsl"

layout(constant_id = 11) const uint TAPS = 1;  // taps along the last slot, 1 to 4
layout(constant_id = 12) const uint TAPS_0 = 1;  // taps along slot 0, if that is not the last
layout(constant_id = 13) const uint TAPS_1 = 1;  // taps along slot 1, if that is not the last
layout(constant_id = 14) const uint AXIS_1 = 0;  // the axis of slot 1, if that is not the last

#ifdef CELLS
layout(constant_id = 16) const uint STEP = 1;  // elements from cell to cell along axis 0, 1 to 4
const uint RUN_LENGTH = 3 * STEP + TAPS_0;
#define MAX_LENGTH (4u * MAX_TAPS_OF_ROWS)
#define MAX_ELEMENTS 4u
#elif defined(RUNS)
const uint STEP = 0;
layout(constant_id = 16) const uint RUN_LENGTH = 1;  // elements of the longest run, 1 to 8
#define MAX_LENGTH MAX_RUN
#define MAX_ELEMENTS 8u
#else
#define MAX_ELEMENTS 4u
#endif

#define WEIGHTS
NUMBER found[2][MAX_TAPS_OF_ROWS];  // weights along the inner slots, from the latest walk
NUMBER weights[MAX_ELEMENTS][2][MAX_TAPS_OF_ROWS];  // weights along the inner slots, of each neighbour
uint tap_stride[2];
#include "neighbours.glsl"

// Loads the weights of a row of a table; returns the source offset of its first tap.
uint load_weights(uint row, uint taps, out NUMBER of_row[MAX_TAPS_OF_ROWS]) {
    uvec4 bits = parameters[row];
    [[unroll]] for (uint tap = 0u; tap < MAX_TAPS_OF_ROWS; ++tap) {
        of_row[tap] = weight_of(bits[tap]);
    }
    return taps < MAX_TAPS_OF_ROWS ? bits[taps] : parameters[row + 1u].x;
}

#ifdef CELLS
uvec2 cells[2];  // for each inner slot: the source offset of the first cell, and the distance from cell to cell

// Loads the cells along axis k from the first two rows of its table, or from its only row. Returns the source offset of the first
// cell, and the distance from cell to cell.
uvec2 load_cells(uint k, uint taps, out NUMBER of_cell[MAX_TAPS_OF_ROWS]) {
    uint next = load_weights(axes[k].table + min(1u, axes[k].size - 1u) * rows_of_taps(taps), taps, of_cell);
    uint first = load_weights(axes[k].table, taps, of_cell);
    return uvec2(first, next - first);
}
#endif

uint src_along(uint k, uint coordinate) {
    if ((TABLED >> k & 1u) == 0u) {
        return coordinate * axes[k].src_stride;
    }
    uint slot = SLOTS == 3u && k == AXIS_1 ? 1u : 0u;
    uint taps = slot == 0u ? TAPS_0 : TAPS_1;
    tap_stride[slot] = axes[k].src_stride;
#ifdef CELLS
    return cells[slot].x + coordinate * cells[slot].y;
#else
    return load_weights(axes[k].table + coordinate * rows_of_taps(taps), taps, found[slot]);
#endif
}

// For each neighbour, the sums of the last TAPS source rows along the inner slots.
NUMBER kept[MAX_ELEMENTS][MAX_TAPS_OF_ROWS];

// Appends a sum and drops the oldest.
void keep(uint lane, NUMBER sum) {
    [[unroll]] for (uint n = 1u; n < MAX_TAPS_OF_ROWS; ++n) {
        kept[lane][n - 1u] = kept[lane][n];
    }
    kept[lane][TAPS - 1u] = sum;
}

#ifdef RUNS

// Bilinear, enlarged nine times: eight neighbours read three elements, not sixteen. Each has a weight for every element of the run,
// zero for those that it does not read.

float run_weights[MAX_ELEMENTS][MAX_LENGTH];
float run[MAX_LENGTH];
uint run_end;  // the last element of the run that the neighbours read

// Turns the weights of each lane's taps into weights of the run's elements. 0.25 and 0.75, from element 1 on, become 0, 0.25, 0.75.
void find_run() {
    int first[MAX_ELEMENTS];
    int lowest = 0;
    int highest = 0;
    [[unroll]] for (uint lane = 0u; lane < MAX_ELEMENTS; ++lane) {
        if (lane < ELEMENTS) {
            first[lane] = STEP > 0u ? int(lane * STEP) : int(walks[lane].src - walks[0].src);
            lowest = min(lowest, first[lane]);
            highest = max(highest, first[lane]);
        }
    }
    walks[0].src += uint(lowest);
    run_end = uint(highest - lowest) + TAPS_0 - 1u;
    [[unroll]] for (uint lane = 0u; lane < MAX_ELEMENTS; ++lane) {
        [[unroll]] for (uint n = 0u; n < MAX_LENGTH; ++n) {
            float weight = 0.0;
            [[unroll]] for (uint tap = 0u; tap < MAX_TAPS_OF_ROWS; ++tap) {
                if (lane < ELEMENTS && n < RUN_LENGTH && tap < TAPS_0 && tap <= n) {
                    weight = int(n - tap) == first[lane] - lowest ? weights[lane][0][tap] : weight;
                }
            }
            run_weights[lane][n] = weight;
        }
    }
}

// Loads the words that hold elements of the run. Bytes 6 to 9: the upper half of word 1 and the lower half of word 2.
void load_run(uint offset) {
    uint lanes = 32u / SRC_WIDTH;
    uint first = offset / lanes;
    uint last = (offset + run_end) / lanes;
    uint before = STEP > 0u ? 0u : lanes - 1u;  // the most elements of a word that come before the run
    uint count = (RUN_LENGTH + before + lanes - 1u) / lanes;
    uint loaded[MAX_LENGTH + 1u];
    [[unroll]] for (uint n = 0u; n <= MAX_LENGTH; ++n) {
        loaded[n] = 0u;
        if (n < count) {
            loaded[n] = src[STEP > 0u ? first + n : min(first + n, last)];
        }
    }
    [[unroll]] for (uint n = 0u; n < MAX_LENGTH; ++n) {
        if (n < RUN_LENGTH) {
            uint word = funnel(loaded[n / lanes], loaded[n / lanes + 1u], (STEP > 0u ? 0u : offset % lanes) * SRC_WIDTH);
            run[n] = number_of(uvec2(field(word, n % lanes, SRC_WIDTH), 0u));
        }
    }
}

float sum_along_run(uint lane) {
    Sum sum = NO_SUM;
    [[unroll]] for (uint n = 0u; n < MAX_LENGTH; ++n) {
        if (n < RUN_LENGTH && (STEP == 0u || n - lane * STEP < TAPS_0)) {
            add(sum, 0u, weighted(0u, run_weights[lane][n], run[n]));
        }
    }
    return sum.total;
}

// Sums the source row that begins at `offset` along the inner slots, which are all but the last.
void sum_row(uint offset) {
    Sum sums[MAX_ELEMENTS];
    [[unroll]] for (uint lane = 0u; lane < MAX_ELEMENTS; ++lane) {
        sums[lane] = NO_SUM;
    }
    // This stays a loop, because unrolled it would take long to compile.
    for (uint tap = 0u; tap < (SLOTS == 3u ? TAPS_1 : 1u); ++tap) {
        load_run(walks[0].src + offset + (SLOTS == 3u ? tap * tap_stride[1] : 0u));
        float weight = weights[0][1][0];
        [[unroll]] for (uint n = 1u; n < MAX_TAPS_OF_ROWS; ++n) {
            weight = tap == n ? weights[0][1][n] : weight;
        }
        [[unroll]] for (uint lane = 0u; lane < MAX_ELEMENTS; ++lane) {
            if (lane < ELEMENTS) {
                float along = sum_along_run(lane);
                if (SLOTS == 3u) {
                    add(sums[lane], 1u, weighted(1u, weight, along));
                } else {
                    sums[lane].total = along;
                }
            }
        }
    }
    [[unroll]] for (uint lane = 0u; lane < MAX_ELEMENTS; ++lane) {
        if (lane < ELEMENTS) {
            keep(lane, sums[lane].total);
        }
    }
}

#else

NUMBER number_at(uint lane, uint offset) { return number_of(load_src(offset)); }

// Defines `name(lane, offset)`, which sums `tap_count` values of one slot; each is itself the sum along the slot inside it.
#define DEFINE_SUM_ALONG(name, slot, tap_count, value_inside) \
    NUMBER name(uint lane, uint offset) { \
        Sum sum = NO_SUM; \
        [[unroll]] for (uint tap = 0u; tap < MAX_TAPS_OF_ROWS; ++tap) { \
            if (tap < tap_count) { \
                add(sum, slot, weighted(slot, weights[lane][slot][tap], value_inside(lane, offset + tap * tap_stride[slot]))); \
            } \
        } \
        return sum.total; \
    }
DEFINE_SUM_ALONG(sum_along_0, 0u, TAPS_0, number_at)
DEFINE_SUM_ALONG(sum_along_1, 1u, TAPS_1, sum_along_0)

NUMBER sum_inside(uint lane, uint offset) {
    switch (SLOTS) {
        case 1: return number_at(lane, offset);
        case 2: return sum_along_0(lane, offset);
        default: return sum_along_1(lane, offset);
    }
}

// Sums the source row that begins at `offset` along the inner slots, which are all but the last.
void sum_row(uint offset) {
    [[unroll]] for (uint lane = 0u; lane < MAX_ELEMENTS; ++lane) {
        if (lane < ELEMENTS) {
            keep(lane, sum_inside(lane, walks[lane].src + offset));
        }
    }
}

#endif

uint old_word(uint word) { return dst[word]; }

void store_row(uint row, NUMBER row_weights[MAX_TAPS_OF_ROWS]) {
    uint dst_offset = walks[0].dst + row * axes[ROW_AXIS].dst_stride;
    uvec4 stored[2] = uvec4[2](uvec4(0u), uvec4(0u));
    [[unroll]] for (uint lane = 0u; lane < MAX_ELEMENTS; ++lane) {
        if (lane < ELEMENTS) {
            Sum sum = NO_SUM;
            [[unroll]] for (uint tap = 0u; tap < MAX_TAPS_OF_ROWS; ++tap) {
                if (tap < TAPS) {
                    add(sum, SLOTS - 1u, weighted(SLOTS - 1u, row_weights[tap], kept[lane][tap]));
                }
            }
            uint bits = converted_sum(sum.total, dst_offset + lane, walks[lane].pairs + row * axes[ROW_AXIS].pairs).x;
            stored[lane / LANES / 4u][lane / LANES % 4u] |= in_lane(bits, lane % LANES);
        }
    }
    store_vector(dst_offset / LANES, selected(stored[0], dst_offset), min(ELEMENTS / LANES, 4u));
    if (ELEMENTS / LANES == 8u) {
        store_vector(dst_offset / LANES + 4u, selected(stored[1], dst_offset), 4u);
    }
}

void main() {
    load_axes();
    NUMBER row_weights[MAX_TAPS_OF_ROWS];
#ifdef CELLS
    cells[0] = uvec2(load_cells(0u, TAPS_0, found[0]).x, STEP);
    if (SLOTS == 3u) {
        cells[1] = load_cells(AXIS_1, TAPS_1, found[1]);
    }
    uvec2 row_cells = load_cells(ROW_AXIS, TAPS, row_weights);
#endif
    uint number = invocation_number();
    if (number >= dispatch.pieces) {
        return;
    }
    Place place = place_of(number);
    walk_to_neighbours(place);
#ifdef RUNS
    find_run();
#endif
    uint row = place.block * ROWS;
    uint end = min(row + ROWS, axes[ROW_AXIS].size);
    uint row_src = axes[ROW_AXIS].src_stride;
    bool holds = false;
    uint held = 0u;
    // Unrolled, the code is a quarter to a half longer on all GPUs of docs/benchmarks/vendors.json. Only NVIDIA's GPUs need fewer
    // registers then: 32 in place of 40 for bilinear f32.
    [[dont_unroll]] for (; row < end; ++row) {
#ifdef CELLS
        [[unroll]] for (uint tap = 0u; tap < TAPS; ++tap) {
            sum_row(row_cells.x + row * row_cells.y + tap * row_src);
        }
#else
        uint first = load_weights(axes[ROW_AXIS].table + row * rows_of_taps(TAPS), TAPS, row_weights);
        uint missing = !holds ? TAPS : first == held ? 0u : first == held + row_src ? 1u : TAPS;
        holds = true;
        held = first;
        [[dont_unroll]] for (uint tap = TAPS - missing; tap < TAPS; ++tap) {
            sum_row(first + tap * row_src);
        }
#endif
        store_row(row, row_weights);
    }
}
