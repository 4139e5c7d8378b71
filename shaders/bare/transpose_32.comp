// What one would write by hand to transpose words, rows and columns in fours, and for nothing else: an invocation turns a
// block of four by four through its registers.
#version 450
layout(local_size_x = 2, local_size_y = 32) in;
layout(constant_id = 0) const uint ROW_FOURS = 1024u;
layout(constant_id = 1) const uint COLUMN_FOURS = 1024u;
layout(std430, binding = 0) readonly buffer Src { uvec4 src[]; };
layout(std430, binding = 1) writeonly buffer Dst { uvec4 dst[]; };

void main() {
    uvec3 g = gl_GlobalInvocationID;
    if (g.x < ROW_FOURS && g.y < COLUMN_FOURS) {
        uint from = 4u * g.x * COLUMN_FOURS + g.y, to = 4u * g.y * ROW_FOURS + g.x;
        uvec4 a = src[from], b = src[from + COLUMN_FOURS];
        uvec4 c = src[from + 2u * COLUMN_FOURS], d = src[from + 3u * COLUMN_FOURS];
        dst[to] = uvec4(a.x, b.x, c.x, d.x);
        dst[to + ROW_FOURS] = uvec4(a.y, b.y, c.y, d.y);
        dst[to + 2u * ROW_FOURS] = uvec4(a.z, b.z, c.z, d.z);
        dst[to + 3u * ROW_FOURS] = uvec4(a.w, b.w, c.w, d.w);
    }
}
