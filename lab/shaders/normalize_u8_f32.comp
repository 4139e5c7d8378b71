// A hand-written kernel to normalize u8 pixels of three channels to f32 planes, and for nothing else: mean and std are ImageNet's.
#version 450
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint QUADS = 518400u;
layout(constant_id = 2) const bool DIVIDES = false;  // by the deviation, instead of multiplying by its reciprocal
layout(std430, binding = 0) readonly buffer Src { uint src[]; };
layout(std430, binding = 1) writeonly buffer Dst { vec4 dst[]; };

vec4 bytes(uint word) { return vec4(word & 255u, word >> 8 & 255u, word >> 16 & 255u, word >> 24); }

vec4 normalized(vec4 quad, float mean, float deviation) {
    return DIVIDES ? (quad - mean) / deviation : (quad - mean) * (1.0 / deviation);
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < QUADS) {
        uint a = src[3u * i], b = src[3u * i + 1u], c = src[3u * i + 2u];
        uint red = (a & 0xFFu) | (a >> 16 & 0xFF00u) | (b & 0xFF0000u) | (c << 16 & 0xFF000000u);
        uint green = (a >> 8 & 0xFFu) | (b << 8 & 0xFF00u) | (b >> 8 & 0xFF0000u) | (c << 8 & 0xFF000000u);
        uint blue = (a >> 16 & 0xFFu) | (b & 0xFF00u) | (c << 16 & 0xFF0000u) | (c & 0xFF000000u);
        dst[i] = normalized(bytes(red), 123.675, 58.395);
        dst[i + QUADS] = normalized(bytes(green), 116.28, 57.12);
        dst[i + 2u * QUADS] = normalized(bytes(blue), 103.53, 57.375);
    }
}
