"""The selftest: checks and measures a device, and writes files without personal names of the machine or its user."""
