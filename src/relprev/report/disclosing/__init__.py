"""Disclosing: findings in, a report of what may be shown out.

`names` and `counted` (with `levels`, `together`) state all counts of a study as cells of one
system; `tables` takes hidden cells out of every table; `reports` does it for a whole study.
"""
