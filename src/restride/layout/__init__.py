"""Descriptors: what a buffer means, as values and as texts, and the arithmetic of where each element lies."""

from restride.layout.tensor_desc import TensorDesc, as_desc

__all__ = ["TensorDesc", "as_desc"]
