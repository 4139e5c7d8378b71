// The numbers of work groups and invocations.

// The number of this work group, row by row: a dispatch has at most 65,535 groups along x, so larger ones continue along y.
// With 8 groups along x, group (3, 2) is number 2 * 8 + 3 = 19; its first invocation of 128 is number 19 * 128 = 2432.
uint group_number() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }

uint invocation_number() { return group_number() * gl_WorkGroupSize.x + gl_LocalInvocationID.x; }
