"""Scale: pyramids, streams and Dask on files, each run in a process of its own, with the memory that it took."""
