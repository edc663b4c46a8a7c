"""Simulations with known truth: coverage of intervals, bias, size and power of the checks.

    python -m simulations coverage --replicates 1000
    python -m simulations nonlinear --replicates 500
    python -m simulations power --replicates 1000
    python -m simulations atlas --replicates 40
    python -m simulations informed --replicates 100
    python -m simulations verdicts --replicates 100
    python -m simulations bias --nhds PATH --replicates 20
    python -m simulations page

All but the last write tidy files to `simulations/results`; the last one turns them into the page
`docs/evidence/coverage.md`. Every replicate has its own seed, so an interrupted file can be
continued, and replicates may run in any order on any number of processes.
"""
