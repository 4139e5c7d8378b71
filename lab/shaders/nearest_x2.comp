// A hand-written kernel for nearest f32 planes 56 wide to twice the size, and for nothing else.
#version 450
layout(local_size_x = 28, local_size_y = 8) in;
layout(constant_id = 0) const uint HEIGHT = 56u;
layout(std430, binding = 0) readonly buffer Src { vec2 src[]; };
layout(std430, binding = 1) writeonly buffer Dst { vec4 dst[]; };

void main() {
    uvec3 g = gl_GlobalInvocationID;
    vec2 two = src[(g.z * HEIGHT + g.y) * 28u + g.x];
    uint place = (g.z * HEIGHT + g.y) * 56u + g.x;
    dst[place] = two.xxyy;
    dst[place + 28u] = two.xxyy;
}
