"""Descriptors: the layout of a buffer as a value and as a text, and the arithmetic of where each element lies."""

from restride.layout.tensor_desc import TensorDesc, as_desc

__all__ = ["TensorDesc", "as_desc"]
