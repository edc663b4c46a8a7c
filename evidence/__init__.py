"""The paper's evidence as run: results files, claims about them, and the page that shows them.

    relprev reproduce gauss --out reproduce-output        runs (hours; can be stopped)
    python -m evidence add gauss reproduce-output/gauss   keeps the results in evidence/gauss
    python -m evidence steps                              why separable data are hard
    python -m evidence page                               writes docs/evidence/paper.md

Results of a method replace earlier ones of the same method; those of other methods stay. Every
row says which versions, and which state of the source (``source_digest``), gave it.
"""
