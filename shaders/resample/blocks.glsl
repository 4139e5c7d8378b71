// Where an invocation works that computes one piece of a block of rows: pieces are counted first, then blocks, then the axes
// outside.
//
// number = (outer * blocks + block) * pieces + piece; with 480 pieces and 135 blocks, 65,281 is piece 1 of block 1 of outer 1:
// 65,281 = (1 * 135 + 1) * 480 + 1. dispatch.row_pieces is the pieces of a row, dispatch.blocks the blocks.
//
// The multipliers of both divisions are `divisors` of axes.glsl; a divisor of 1 has none.

struct Place {
    uint piece, block, outer;
};

Place place_of(uint number) {
    uint rest = dispatch.row_pieces == 1u ? number : multiply_shift(number, divisors.xy);
    uint outer = dispatch.blocks == 1u ? rest : multiply_shift(rest, divisors.zw);
    return Place(number - rest * dispatch.row_pieces, rest - outer * dispatch.blocks, outer);
}
