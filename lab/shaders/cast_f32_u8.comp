// A hand-written kernel for f32 * 255 to u8, a number of quads in a row, and for nothing else.
#version 450
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint QUADS = 1555200u;
layout(std430, binding = 0) readonly buffer Src { vec4 src[]; };
layout(std430, binding = 1) writeonly buffer Dst { uint dst[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < QUADS) {
        uvec4 u = uvec4(clamp(roundEven(src[i] * 255.0), vec4(0.0), vec4(255.0)));
        dst[i] = u.x | u.y << 8 | u.z << 16 | u.w << 24;
    }
}
