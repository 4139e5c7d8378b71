"""The workloads of the benchmark, full and small, by their names."""

from restride_measure.workloads import catalogue

FULL, SMALL = catalogue(), catalogue(is_small=True)
