"""The study file: `keys` and `options`, `reading` it, a `template` to start from, a `reference`.

The data that it names: `source`, or `simulated`.
"""
