"""Simulations with known truth: how often intervals cover and how often checks reject.

    python -m simulations coverage --scenario two_groups --replicates 1000 --out coverage.csv
    python -m simulations summary coverage.csv

Every replicate has its own seed, so a file can be continued where it stopped and
replicates may run in any order, on any number of processes.
"""
