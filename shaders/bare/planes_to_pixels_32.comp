// What one would write by hand for three planes of words to pixels, fours of pixels in a row, and for nothing else.
#version 450
layout(local_size_x = 128) in;
layout(constant_id = 0) const uint FOURS = 518400u;
layout(std430, binding = 0) readonly buffer Src { uvec4 src[]; };
layout(std430, binding = 1) writeonly buffer Dst { uvec4 dst[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < FOURS) {
        uvec4 a = src[i], b = src[i + FOURS], c = src[i + 2u * FOURS];
        dst[3u * i] = uvec4(a.x, b.x, c.x, a.y);
        dst[3u * i + 1u] = uvec4(b.y, c.y, a.z, b.z);
        dst[3u * i + 2u] = uvec4(c.z, a.w, b.w, c.w);
    }
}
