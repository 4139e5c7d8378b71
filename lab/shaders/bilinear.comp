// A hand-written kernel for bilinear f32 planes of one size to another, half-pixel centres, and for nothing else:
// an invocation computes eight rows of a column, and reuses its sums along x if the next row reads the same two source rows.
#version 450
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint SRC_HEIGHT = 1080u;
layout(constant_id = 1) const uint SRC_WIDTH = 1920u;
layout(constant_id = 2) const uint DST_HEIGHT = 224u;
layout(constant_id = 3) const uint DST_WIDTH = 224u;
layout(constant_id = 4) const float ROW_STEP = 4.82142857;
layout(constant_id = 5) const float COLUMN_STEP = 8.57142857;
layout(std430, binding = 0) readonly buffer Src { float src[]; };
layout(std430, binding = 1) writeonly buffer Dst { float dst[]; };

void main() {
    uvec3 g = gl_GlobalInvocationID;
    if (g.x >= DST_WIDTH) {
        return;
    }
    float fx = max((float(g.x) + 0.5) * COLUMN_STEP - 0.5, 0.0);
    uint x0 = uint(fx), x1 = min(x0 + 1u, SRC_WIDTH - 1u);
    float wx = fx - float(x0);
    uint kept = ~0u;
    float upper = 0.0, lower = 0.0;
    for (uint n = 0u; n < 8u; ++n) {
        uint y = g.y * 8u + n;
        float fy = max((float(y) + 0.5) * ROW_STEP - 0.5, 0.0);
        uint y0 = uint(fy), y1 = min(y0 + 1u, SRC_HEIGHT - 1u);
        if (y0 != kept) {
            uint plane = g.z * SRC_HEIGHT;
            uint row0 = (plane + y0) * SRC_WIDTH, row1 = (plane + y1) * SRC_WIDTH;
            upper = mix(src[row0 + x0], src[row0 + x1], wx);
            lower = mix(src[row1 + x0], src[row1 + x1], wx);
            kept = y0;
        }
        dst[(g.z * DST_HEIGHT + y) * DST_WIDTH + g.x] = mix(upper, lower, fy - float(y0));
    }
}
