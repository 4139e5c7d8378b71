// `word` by a select that the compiler cannot fold: no element lies at 2^32 - 1. For words to be stored, and places to be loaded.
//
// llvmpipe loads and stores lane by lane, and LLVM moves the last operations before that into the same loop, fetching each operand
// from memory. A select it does for all lanes at once: f16 to f32 takes 0.8 of the time with it, bytes of pixels to planes 0.65.
uint selected(uint word, uint offset) { return offset != 0xFFFFFFFFu ? word : 0u; }
