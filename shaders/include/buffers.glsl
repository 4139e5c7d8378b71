// The buffers of a kernel. Buffers of the same binding are the same memory, read as words, pairs or quads of words.
//
// PARAMETERS: the binding of the parameters, 3 in kernels with a second source.

#ifndef PARAMETERS
#define PARAMETERS 2
#endif

layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 0) readonly buffer Src2 { uvec2 src2[]; };
layout(std430, binding = 0) readonly buffer Src4 { uvec4 src4[]; };
layout(std430, binding = 1) buffer Dst { uint dst[]; };
layout(std430, binding = 1) buffer Dst2 { uvec2 dst2[]; };
layout(std430, binding = 1) buffer Dst4 { uvec4 dst4[]; };
layout(std430, binding = PARAMETERS) readonly buffer Parameters { uvec4 parameters[]; };
layout(std430, binding = PARAMETERS) readonly buffer Words { uint words[]; };  // tables
layout(std430, binding = PARAMETERS) readonly buffer Pairs { uvec2 pairs[]; };  // pairs of scale and zero point
