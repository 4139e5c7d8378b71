"""Audit restride's kernels for GPUs that are not here: what Mesa's compilers make of them."""
