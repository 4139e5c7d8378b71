"""Run cases: worker processes that open a device, the runner that feeds them, validation layers and measurements."""
