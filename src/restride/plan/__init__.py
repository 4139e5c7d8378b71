"""Plans: from source and destination descriptors to the dispatches that do the work. Pure; no device is needed."""
