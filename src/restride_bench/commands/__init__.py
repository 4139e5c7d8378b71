"""Commands of ``restride`` that this package provides."""
