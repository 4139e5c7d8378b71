// A hand-written kernel for bilinear boxes of u8 pixels of three channels, normalized, as f32 planes of one size: mean and
// std are ImageNet's. An invocation computes four columns of a row; all invocations of a work group read the same two rows.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint SRC_COLUMNS = 1u;
layout(constant_id = 2) const uint ROWS = 1u;
layout(constant_id = 3) const uint COLUMNS = 4u;
layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 1) writeonly buffer Dst { vec4 dst[]; };
layout(std430, binding = 2) readonly buffer Boxes { uint boxes[]; };  // first row and column, rows and columns, steps of both

// The three channels of pixel `number`: bytes of a word, or of two.
vec3 pixel(uint number) {
    uint byte = 3u * number, shift = byte % 4u * 8u;
    uint low = src[byte / 4u], high = src[(byte + 2u) / 4u];
    uint bits = low >> shift | high << 1 << (31u - shift);
    return vec3(bits & 0xFFu, bits >> 8 & 0xFFu, bits >> 16 & 0xFFu);
}

void main() {
    uint column = gl_GlobalInvocationID.x * 4u, row = gl_WorkGroupID.y, box = 6u * gl_WorkGroupID.z;
    uvec4 where = uvec4(boxes[box], boxes[box + 1u], boxes[box + 2u], boxes[box + 3u]);
    vec2 steps = uintBitsToFloat(uvec2(boxes[box + 4u], boxes[box + 5u]));
    if (column >= COLUMNS) {
        return;
    }
    float y = clamp((float(row) + 0.5) * steps.x - 0.5, 0.0, float(where.z - 1u));
    uint y0 = uint(y), y1 = min(y0 + 1u, where.z - 1u);
    uint upper = (where.x + y0) * SRC_COLUMNS + where.y, lower = (where.x + y1) * SRC_COLUMNS + where.y;
    vec4 planes[3];
    [[unroll]] for (uint n = 0u; n < 4u; ++n) {
        float x = clamp((float(column + n) + 0.5) * steps.y - 0.5, 0.0, float(where.w - 1u));
        uint x0 = uint(x), x1 = min(x0 + 1u, where.w - 1u);
        vec3 above = mix(pixel(upper + x0), pixel(upper + x1), x - float(x0));
        vec3 below = mix(pixel(lower + x0), pixel(lower + x1), x - float(x0));
        vec3 normalized = (mix(above, below, y - float(y0)) - vec3(123.675, 116.28, 103.53)) * (1.0 / vec3(58.395, 57.12, 57.375));
        planes[0][n] = normalized.x;
        planes[1][n] = normalized.y;
        planes[2][n] = normalized.z;
    }
    [[unroll]] for (uint c = 0u; c < 3u; ++c) {
        dst[(((gl_WorkGroupID.z * 3u + c) * ROWS + row) * COLUMNS + column) / 4u] = planes[c];
    }
}
