// Exact division by a number that the host knows in advance: n / d is (n * multiplier >> 32) >> shift for n below 2^31.
//
// The host computes multiplier and shift (multiply_shift in plan/problem.py):
//   16 / 5: multiplier ceil(2^34 / 5) = 3435973837, (16 * 3435973837) >> 32 = 12, 12 >> 2 = 3.
uint multiply_shift(uint n, uvec2 multiplier_and_shift) {
    uint high, low;
    umulExtended(n, multiplier_and_shift.x, high, low);
    return high >> multiplier_and_shift.y;
}
