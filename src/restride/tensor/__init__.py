"""Tensors: a buffer on a device and what it means, and how arrays of the host get there and back."""
