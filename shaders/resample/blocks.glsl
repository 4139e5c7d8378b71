// Finds which elements of a row (its piece) and which block of rows an invocation computes. The number of an invocation counts
// first the pieces of a row, then the blocks, then the indices of the outer axes.
//
// number = (outer * blocks + block) * pieces + piece; with 480 pieces and 135 blocks, 65,281 is piece 1 of block 1 of outer 1:
// 65,281 = (1 * 135 + 1) * 480 + 1. dispatch.row_pieces is the number of pieces in a row, dispatch.blocks that of blocks.
//
// The header of axes.glsl has multiplier and shift of both divisions; a division by 1 is left out.

struct Place {
    uint piece, block, outer;
};

Place place_of(uint number) {
    uint rest = dispatch.row_pieces == 1u ? number : multiply_shift(number, header.divide_by_first);
    uint outer = dispatch.blocks == 1u ? rest : multiply_shift(rest, header.divide_by_second);
    return Place(number - rest * dispatch.row_pieces, rest - outer * dispatch.blocks, outer);
}
