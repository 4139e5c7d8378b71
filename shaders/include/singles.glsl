// What an element of a piece reads, tap by tap; or the elements of four neighbours, moved out of one group.
//
// This file is a part of resample_rows.comp.

layout(constant_id = 14) const uint GROUP = 0;  // the four of a piece are of one aligned group of so many, if not 0

uint in_group[4];

float f32_at(uint offset) { return uintBitsToFloat(f32_of(load_src(offset), SRC_TYPE, false)); }

float summed_along_0(uint lane, uint offset) {
    precise float sum = NOTHING;
    [[unroll]] for (uint tap = 0u; tap < MOST_TAPS; ++tap) {
        if (tap < TAPS_0) {
            sum = sum + weighted(weights[lane][0][tap], f32_at(offset + tap * tap_stride[0]));
        }
    }
    return sum;
}

float summed_along_1(uint lane, uint offset) {
    precise float sum = NOTHING;
    [[unroll]] for (uint tap = 0u; tap < MOST_TAPS; ++tap) {
        if (tap < TAPS_1) {
            sum = sum + weighted(weights[lane][1][tap], summed_along_0(lane, offset + tap * tap_stride[1]));
        }
    }
    return sum;
}

uint kept_of(uint lane, uint offset) {
    switch (SLOTS) {
        case 0: return load_src(offset).x;
        case 1: return floatBitsToUint(f32_at(offset));
        case 2: return floatBitsToUint(summed_along_0(lane, offset));
        default: return floatBitsToUint(summed_along_1(lane, offset));
    }
}

void keep_group(uint offset) {
    uint lanes = 32u / SRC_WIDTH;
    uvec4 group;
    if (GROUP <= lanes) {
        group = uvec4(src[offset / lanes]);
    } else if (GROUP == 2u * lanes) {
        group = src2[offset / GROUP].xyxy;
    } else {
        group = src4[offset / GROUP];
    }
    [[unroll]] for (uint lane = 0u; lane < 4u; ++lane) {
        uint word = in_group[lane] / lanes;
        uint bits = word == 0u ? group.x : word == 1u ? group.y : word == 2u ? group.z : group.w;
        kept[lane][0] = bits >> (in_group[lane] % lanes * SRC_WIDTH) & 0xFFFFFFFFu >> (32u - SRC_WIDTH);
    }
}

// What comes of a row of the source, which begins at an offset.
void keep_row(uint offset) {
    if (GROUP != 0u) {
        keep_group(src_offset[0] + offset);
        return;
    }
    [[unroll]] for (uint lane = 0u; lane < MOST_ELEMENTS; ++lane) {
        if (lane < ELEMENTS) {
            keep(lane, kept_of(lane, src_offset[lane] + offset));
        }
    }
}
