"""The paper's evidence, rerun: results files, claims about them, and the page that shows them.

    relprev reproduce gauss --out reproduce-output        run (hours; can be interrupted)
    python -m evidence add gauss reproduce-output/gauss   keep the results in evidence/gauss
    python -m evidence steps                              show why separable data are hard
    python -m evidence counts --data nhds:FOLDER          count the semi-synthetic settings
    python -m evidence case-study NEDS=results            draw Figures 3 and S3 to S6 of a study
    python -m evidence page                               write docs/evidence/paper.md

Results of a method replace earlier results of the same method; those of other methods stay. Every
row records the versions and the state of the source (``source_digest``) that produced it.
"""
