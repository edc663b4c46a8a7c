"""Tables: results in rows and columns.

`table` is one of them; `comparisons`, `characteristics` (Table 1) and `checklist` fill it, `frames`
are files of a whole study, `terminal` and `word` put tables there.
"""
