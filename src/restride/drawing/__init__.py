"""Pictures of layouts: the place of every index in memory, and the moves of a reorder. No device is needed."""
