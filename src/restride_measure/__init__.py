"""Measure operations on a device: workloads, offers and rounds, and with them ``restride tune`` and ``selftest``."""
