"""Audit restride's kernels for a GPU on a machine without one: compile them, and count their memory traffic."""
