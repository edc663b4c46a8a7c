"""Benchmarks: accuracy, ratios of times measured in one run, peak memory. Run with `make bench`."""
