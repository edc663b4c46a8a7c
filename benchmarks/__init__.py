"""Benchmarks: ratios of times measured in one run, with peak memory. Run with `make bench`."""
