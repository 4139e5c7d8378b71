"""Pictures of layouts: where every index lies in memory, and what a reorder moves. No device is needed."""
