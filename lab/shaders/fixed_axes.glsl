// The axes of one strided problem, every number a constant: x of the grid goes along axis 0, y along axis 1, z along all others.
//
// SIZE_k, SRC_k, DST_k: size and strides of axis k, in units that a kernel moves at once; SRC_k is two's complement.

layout(local_size_x_id = 0, local_size_y_id = 1) in;

layout(constant_id = 2) const uint SRC_BASE = 0u;
layout(constant_id = 3) const uint DST_BASE = 0u;
layout(constant_id = 4) const bool IS_WHOLE = false;  // work groups end where the axes do
layout(constant_id = 5) const uint SIZE_0 = 1u;
layout(constant_id = 6) const uint SRC_0 = 0u;
layout(constant_id = 7) const uint DST_0 = 0u;
layout(constant_id = 8) const uint SIZE_1 = 1u;
layout(constant_id = 9) const uint SRC_1 = 0u;
layout(constant_id = 10) const uint DST_1 = 0u;
layout(constant_id = 11) const uint SIZE_2 = 1u;
layout(constant_id = 12) const uint SRC_2 = 0u;
layout(constant_id = 13) const uint DST_2 = 0u;
layout(constant_id = 14) const uint SIZE_3 = 1u;
layout(constant_id = 15) const uint SRC_3 = 0u;
layout(constant_id = 16) const uint DST_3 = 0u;
layout(constant_id = 17) const uint SIZE_4 = 1u;
layout(constant_id = 18) const uint SRC_4 = 0u;
layout(constant_id = 19) const uint DST_4 = 0u;
layout(constant_id = 20) const uint SIZE_5 = 1u;
layout(constant_id = 21) const uint SRC_5 = 0u;
layout(constant_id = 22) const uint DST_5 = 0u;
layout(constant_id = 23) const uint SIZE_6 = 1u;
layout(constant_id = 24) const uint SRC_6 = 0u;
layout(constant_id = 25) const uint DST_6 = 0u;
layout(constant_id = 26) const uint SIZE_7 = 1u;
layout(constant_id = 27) const uint SRC_7 = 0u;
layout(constant_id = 28) const uint DST_7 = 0u;

// The source and the destination offset of index 0 of axes 0 and 1 for this z. With SIZE_2 5 and SIZE_3 7, z = 12 is
// coordinate 2 along axis 2 and coordinate 2 along axis 3.
uvec2 outer_offsets() {
    uvec2 at = uvec2(SRC_BASE, DST_BASE);
    uint z = gl_GlobalInvocationID.z;
    at += z % SIZE_2 * uvec2(SRC_2, DST_2);
    z /= SIZE_2;
    at += z % SIZE_3 * uvec2(SRC_3, DST_3);
    z /= SIZE_3;
    at += z % SIZE_4 * uvec2(SRC_4, DST_4);
    z /= SIZE_4;
    at += z % SIZE_5 * uvec2(SRC_5, DST_5);
    z /= SIZE_5;
    at += z % SIZE_6 * uvec2(SRC_6, DST_6);
    z /= SIZE_6;
    return at + z * uvec2(SRC_7, DST_7);
}
