"""The selftest: what a device gets right and how fast it is, in files that name nothing else of the machine."""
