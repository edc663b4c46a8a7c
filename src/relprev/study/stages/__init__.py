"""Stages of a study, each `kept` when it is finished, under one of its `keys`.

`variable` has the estimates of a group variable, `analyses` what goes beside them, `checks` the
checks.
"""
