// Element types: their numbers, which plan/conversion.py has too, their kinds and their widths.

const uint F32 = 0, F16 = 1, BF16 = 2, U8 = 3, S8 = 4, S32 = 5, PRED = 6, S16 = 7, U16 = 8, U32 = 9, S64 = 10, U64 = 11;
const uint F64 = 12, F8E4M3FN = 13, F8E5M2 = 14;

// What is known of a type is looked up in bits, not asked by branches: a driver that inlines before it folds constants would
// meet them at every call (SwiftShader took minutes for a pipeline).
const uint SIGNED = 1u << S8 | 1u << S16 | 1u << S32 | 1u << S64;
const uint INTEGERS = SIGNED | 1u << PRED | 1u << U8 | 1u << U16 | 1u << U32 | 1u << U64;
const uint WIDE_TYPES = 1u << S32 | 1u << U32 | 1u << S64 | 1u << U64 | 1u << F64;  // with numbers that are no f32

bool is_signed(uint type) { return (SIGNED >> type & 1u) != 0u; }
bool is_integer(uint type) { return (INTEGERS >> type & 1u) != 0u; }
bool is_wide(uint type) { return (WIDE_TYPES >> type & 1u) != 0u; }

// Two bits a type: 8 << 0 to 8 << 3.
const uint WIDTHS = 2u << 2u * F32 | 1u << 2u * F16 | 1u << 2u * BF16 | 2u << 2u * S32 | 1u << 2u * S16 | 1u << 2u * U16
    | 2u << 2u * U32 | 3u << 2u * S64 | 3u << 2u * U64 | 3u << 2u * F64;

uint width_of(uint type) { return 8u << (WIDTHS >> 2u * type & 3u); }
