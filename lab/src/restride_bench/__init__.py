"""The benchmark: the time restride takes for everyday work, next to other libraries and the device's own copy."""
