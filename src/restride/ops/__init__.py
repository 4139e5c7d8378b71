"""The operations: each checks its arguments, makes its plan, and runs on a device."""
