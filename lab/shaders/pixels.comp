// A hand-written kernel for pixels of three channels to planes, or back: an invocation moves 16 bytes of each plane.
#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint COUNT = 1u;  // how many times 16 bytes a plane has
layout(std430, binding = 0) readonly buffer Src { uvec4 src[]; };
layout(std430, binding = 1) writeonly buffer Dst { uvec4 dst[]; };

// Four pixels as three words, from a word of each plane.
#if WIDTH == 8
uvec3 pixels_of(uvec3 p) {
    return uvec3((p.x & 0xFFu) | (p.y & 0xFFu) << 8 | (p.z & 0xFFu) << 16 | (p.x & 0xFF00u) << 16,
                 (p.y >> 8 & 0xFFu) | (p.z & 0xFF00u) | (p.x & 0xFF0000u) | (p.y & 0xFF0000u) << 8,
                 (p.z >> 16 & 0xFFu) | (p.x >> 16 & 0xFF00u) | (p.y >> 8 & 0xFF0000u) | (p.z & 0xFF000000u));
}

uvec3 planes_of(uvec3 p) {
    return uvec3((p.x & 0xFFu) | (p.x >> 16 & 0xFF00u) | (p.y & 0xFF0000u) | (p.z << 16 & 0xFF000000u),
                 (p.x >> 8 & 0xFFu) | (p.y << 8 & 0xFF00u) | (p.y >> 8 & 0xFF0000u) | (p.z << 8 & 0xFF000000u),
                 (p.x >> 16 & 0xFFu) | (p.y & 0xFF00u) | (p.z << 16 & 0xFF0000u) | (p.z & 0xFF000000u));
}
#endif

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= COUNT) {
        return;
    }
#ifdef TO_PLANES
    uvec4 a = src[3u * i], b = src[3u * i + 1u], c = src[3u * i + 2u];
#if WIDTH == 8
    uvec3 p = planes_of(a.xyz), q = planes_of(uvec3(a.w, b.xy)), r = planes_of(uvec3(b.zw, c.x)), s = planes_of(c.yzw);
    dst[i] = uvec4(p.x, q.x, r.x, s.x);
    dst[i + COUNT] = uvec4(p.y, q.y, r.y, s.y);
    dst[i + 2u * COUNT] = uvec4(p.z, q.z, r.z, s.z);
#else
    dst[i] = uvec4(a.x, a.w, b.z, c.y);
    dst[i + COUNT] = uvec4(a.y, b.x, b.w, c.z);
    dst[i + 2u * COUNT] = uvec4(a.z, b.y, c.x, c.w);
#endif
#else
    uvec4 a = src[i], b = src[i + COUNT], c = src[i + 2u * COUNT];
#if WIDTH == 8
    uvec3 p = pixels_of(uvec3(a.x, b.x, c.x)), q = pixels_of(uvec3(a.y, b.y, c.y));
    uvec3 r = pixels_of(uvec3(a.z, b.z, c.z)), s = pixels_of(uvec3(a.w, b.w, c.w));
    dst[3u * i] = uvec4(p, q.x);
    dst[3u * i + 1u] = uvec4(q.yz, r.xy);
    dst[3u * i + 2u] = uvec4(r.z, s);
#else
    dst[3u * i] = uvec4(a.x, b.x, c.x, a.y);
    dst[3u * i + 1u] = uvec4(b.y, c.y, a.z, b.z);
    dst[3u * i + 2u] = uvec4(c.z, a.w, b.w, c.w);
#endif
#endif
}
