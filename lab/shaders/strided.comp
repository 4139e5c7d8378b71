// A hand-written kernel for a strided copy of one shape: an invocation moves one unit of 1, 2 or 4 words.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "fixed_axes.glsl"

#if WORDS == 1
#define UNIT uint
#elif WORDS == 2
#define UNIT uvec2
#else
#define UNIT uvec4
#endif
layout(std430, binding = 0) readonly buffer Src { UNIT src[]; };
layout(std430, binding = 1) writeonly buffer Dst { UNIT dst[]; };

void main() {
    uvec3 g = gl_GlobalInvocationID;
    if (IS_WHOLE || (g.x < SIZE_0 && g.y < SIZE_1)) {
        uvec2 at = outer_offsets();
        dst[at.y + g.x * DST_0 + g.y * DST_1] = src[at.x + g.x * SRC_0 + g.y * SRC_1];
    }
}
