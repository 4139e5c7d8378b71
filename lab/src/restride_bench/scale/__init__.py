"""Measure pyramids, streams and Dask on files: time and memory, with a process for each run."""
