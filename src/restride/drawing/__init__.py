"""Pictures of layouts: the position of every index in memory, and the moves of a reorder. No device is needed."""
