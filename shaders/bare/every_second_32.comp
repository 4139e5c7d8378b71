// What one would write by hand for every second word of every second row, forwards or backwards along both, and for
// nothing else: an invocation makes four neighbours out of two loads. Rows are a multiple of eight words.
#version 450
layout(local_size_x = 64, local_size_y = 4) in;
layout(constant_id = 0) const uint DST_HEIGHT = 540u;
layout(constant_id = 1) const uint DST_FOURS = 240u;
layout(constant_id = 2) const uint BACKWARDS = 0u;
layout(std430, binding = 0) readonly buffer Src { uvec4 src[]; };
layout(std430, binding = 1) writeonly buffer Dst { uvec4 dst[]; };

void main() {
    uvec3 g = gl_GlobalInvocationID;
    if (g.x < DST_FOURS && g.y < DST_HEIGHT) {
        uint row = 2u * g.z * DST_HEIGHT + (BACKWARDS == 1u ? 2u * (DST_HEIGHT - g.y) - 1u : 2u * g.y);
        uint from = 2u * (row * DST_FOURS + (BACKWARDS == 1u ? DST_FOURS - 1u - g.x : g.x));
        uvec4 a = src[from], b = src[from + 1u];
        dst[(g.z * DST_HEIGHT + g.y) * DST_FOURS + g.x] =
            BACKWARDS == 1u ? uvec4(b.w, b.y, a.w, a.y) : uvec4(a.x, a.z, b.x, b.z);
    }
}
