// What the elements of a piece read along axis 0, a run of the source: loaded once for all of them.
//
// Bilinear, enlarged nine times: eight neighbours read three elements, not sixteen. Each has a weight for every element of the run,
// zero for those that it does not read.
// This file is a part of resample_rows.comp.

layout(constant_id = 14) const uint RUN = 1;  // the longest, 1 to 8

const uint MOST_IN_RUN = 8;

float run_weights[MOST_ELEMENTS][MOST_IN_RUN];
float run[MOST_IN_RUN];
uint run_end;  // the last element of the run that a piece reads

// From the weights of the taps of each lane to those of the run: 0.25 and 0.75, one element on, are 0, 0.25, 0.75.
void share_run() {
    int first[MOST_ELEMENTS];
    int lowest = 0;
    int highest = 0;
    [[unroll]] for (uint lane = 0u; lane < MOST_ELEMENTS; ++lane) {
        if (lane < ELEMENTS) {
            first[lane] = int(src_offset[lane] - src_offset[0]);
            lowest = min(lowest, first[lane]);
            highest = max(highest, first[lane]);
        }
    }
    src_offset[0] += uint(lowest);
    run_end = uint(highest - lowest) + TAPS_0 - 1u;
    [[unroll]] for (uint lane = 0u; lane < MOST_ELEMENTS; ++lane) {
        [[unroll]] for (uint n = 0u; n < MOST_IN_RUN; ++n) {
            float weight = 0.0;
            [[unroll]] for (uint tap = 0u; tap < MOST_TAPS; ++tap) {
                if (lane < ELEMENTS && n < RUN && tap < TAPS_0 && tap <= n) {
                    weight = int(n - tap) == first[lane] - lowest ? weights[lane][0][tap] : weight;
                }
            }
            run_weights[lane][n] = weight;
        }
    }
}

// The words that a run lies in, those of its elements alone. Bytes 6 to 9: the upper half of word 1, and of word 2 the lower one.
void load_run(uint offset) {
    uint lanes = 32u / SRC_WIDTH;
    uint first = offset / lanes;
    uint last = (offset + run_end) / lanes;
    uint shift = offset % lanes * SRC_WIDTH;
    uint most = (RUN + lanes - 2u) / lanes;
    uint loaded[MOST_IN_RUN + 1u];
    [[unroll]] for (uint n = 0u; n <= MOST_IN_RUN; ++n) {
        if (n <= most) {
            loaded[n] = src[min(first + n, last)];
        }
    }
    [[unroll]] for (uint n = 0u; n < MOST_IN_RUN; ++n) {
        if (n < RUN) {
            uint word = loaded[n / lanes] >> shift;
            if (lanes > 1u && n / lanes < most) {
                word |= loaded[n / lanes + 1u] << 1 << (31u - shift);
            }
            uint bits = word >> (n % lanes * SRC_WIDTH) & 0xFFFFFFFFu >> (32u - SRC_WIDTH);
            run[n] = uintBitsToFloat(f32_of(uvec2(bits, 0u), SRC_TYPE, false));
        }
    }
}

float summed_along_run(uint lane) {
    precise float sum = NOTHING;
    [[unroll]] for (uint n = 0u; n < MOST_IN_RUN; ++n) {
        if (n < RUN) {
            sum = sum + weighted(run_weights[lane][n], run[n]);
        }
    }
    return sum;
}

// What comes of a row of the source, which begins at an offset.
void keep_row(uint offset) {
    float sums[MOST_ELEMENTS];
    [[unroll]] for (uint lane = 0u; lane < MOST_ELEMENTS; ++lane) {
        sums[lane] = NOTHING;
    }
    // A loop: unrolled, it would take long to compile.
    for (uint tap = 0u; tap < (SLOTS == 3u ? TAPS_1 : 1u); ++tap) {
        load_run(src_offset[0] + offset + (SLOTS == 3u ? tap * tap_stride[1] : 0u));
        float weight = weights[0][1][0];
        [[unroll]] for (uint n = 1u; n < MOST_TAPS; ++n) {
            weight = tap == n ? weights[0][1][n] : weight;
        }
        [[unroll]] for (uint lane = 0u; lane < MOST_ELEMENTS; ++lane) {
            if (lane < ELEMENTS) {
                float along = summed_along_run(lane);
                precise float sum = sums[lane];
                sum = sum + weighted(weight, along);
                sums[lane] = SLOTS == 3u ? sum : along;
            }
        }
    }
    [[unroll]] for (uint lane = 0u; lane < MOST_ELEMENTS; ++lane) {
        if (lane < ELEMENTS) {
            keep(lane, floatBitsToUint(sums[lane]));
        }
    }
}
