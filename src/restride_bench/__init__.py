"""The benchmark: what restride takes for everyday work, beside other libraries and the device's own copy."""
