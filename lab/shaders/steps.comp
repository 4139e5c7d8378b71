// A hand-written kernel for rows backwards, every second element, or both, of one shape: an invocation computes 16 bytes of a
// row from 16 or 32 that it loads. Which element goes where is constant.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "fixed_axes.glsl"

layout(constant_id = 29) const int STEP = -1;  // -2, -1 or 2
layout(constant_id = 30) const int PHASE = 3;  // element e of the result is loaded element PHASE + e * STEP
layout(std430, binding = 0) readonly buffer Src { uvec4 src[]; };
layout(std430, binding = 1) writeonly buffer Dst { uvec4 dst[]; };

const int LANES = 32 / WIDTH;

void main() {
    uvec3 g = gl_GlobalInvocationID;
    if (!IS_WHOLE && (g.x >= SIZE_0 || g.y >= SIZE_1)) {
        return;
    }
    uvec2 at = outer_offsets();
    uint from = at.x + g.x * SRC_0 + g.y * SRC_1;
    uvec4 low = src[from], high = low;
    if (STEP != -1) {
        high = src[from + 1u];
    }
    uvec4 row = uvec4(0u);
    [[unroll]] for (int element = 0; element < 4 * LANES; ++element) {
        int place = PHASE + element * STEP;
        uint word = place < 4 * LANES ? low[place / LANES % 4] : high[place / LANES % 4];
        row[element / LANES] |= (word >> place % LANES * WIDTH & 0xFFFFFFFFu >> 32 - WIDTH) << element % LANES * WIDTH;
    }
    dst[at.y + g.x * DST_0 + g.y * DST_1] = row;
}
