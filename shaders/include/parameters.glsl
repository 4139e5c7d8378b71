// The storage buffer with the parameters of a dispatch, read as rows, words or pairs. Structs in it: axes.glsl and digit_copy.comp.
//
// PARAMETERS: its binding, 3 in kernels with a second source.

#ifndef PARAMETERS
#define PARAMETERS 2
#endif

layout(std430, binding = PARAMETERS) readonly buffer Parameters { uvec4 parameters[]; };
layout(std430, binding = PARAMETERS) readonly buffer Words { uint words[]; };  // tables
layout(std430, binding = PARAMETERS) readonly buffer Pairs { uvec2 pairs[]; };  // pairs of scale and zero point
