"""What a GPU would make of restride's kernels, on a machine without one: compiled, and with their memory traffic."""
