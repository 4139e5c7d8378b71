"""The operations: each checks its arguments, plans itself, and is run on a device."""
