"""Figures: `plots` and the `flow` of who was left out, in one `style`; `graphics`, their bytes."""
