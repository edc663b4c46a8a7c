"""What every report says, whatever was found: assumptions, methods, explanations, glossary."""

from __future__ import annotations

ASSUMPTIONS = (
    "Nobody is diagnosed wrongly: whoever has the recorded diagnosis has the condition.",
    "Within a group, diagnosis is random among cases: it may depend on the group, not on symptoms.",
    "The same symptoms mean the same risk in every group.",
)
SUPPRESSED = (
    "Counts of 1 to 10 people, and what would reveal them, are hidden and shown as a dash (–)."
)
METHOD_NAMES = {"debiased": "DebiasedPURPLE", "purple": "PURPLE"}  # names in study files
METHODS = {
    "DebiasedPURPLE": (
        "DebiasedPURPLE estimates the ratio of diagnosis rates from the diagnosed by a doubly "
        "robust score, with group propensities and risk fitted out of fold, and divides the "
        "recorded ratio by it; standard errors come from the influence function, in which the part "
        "of the risk that the model leaves out is counted"
    ),
    "PURPLE": (
        "PURPLE fits p(diagnosed | symptoms, group) = p(condition | symptoms) × diagnosis rate of "
        "the group by L1-penalised maximum likelihood and compares the groups' mean "
        "p(condition | symptoms); it gives no interval"
    ),
}
REFERENCES = {
    "PURPLE": (
        "Shanmugam D, Hou K, Pierson E. Quantifying disparities in intimate partner violence: a "
        "machine learning method to correct for underreporting."
    ),
    "DebiasedPURPLE": (
        "Chernozhukov V, Chetverikov D, Demirer M, Duflo E, Hansen C, Newey W, Robins J. "
        "Double/debiased machine learning for treatment and structural parameters. The "
        "Econometrics Journal 2018;21:C1-C68."
    ),
    "unconstrained": (
        "Nadeau C, Bengio Y. Inference for the generalization error. Machine Learning "
        "2003;52:239-281."
    ),
    "holm": (
        "Holm S. A simple sequentially rejective multiple test procedure. Scandinavian Journal of "
        "Statistics 1979;6:65-70."
    ),
}
GLOSSARY = {
    "Relative prevalence (corrected ratio)": (
        "How many times as common the condition is in one group as in another, recorded or not. "
        "Only ratios can be estimated, never how common the condition is in itself."
    ),
    "Recorded ratio": "The same ratio for recorded diagnoses, without any correction.",
    "Diagnosis-rate ratio": (
        "How many times as likely a case is to be diagnosed in one group as in another. Recorded "
        "ratio = diagnosis-rate ratio × corrected ratio."
    ),
    "Confidence interval (CI)": (
        "A range made by a procedure that covers the true ratio in the stated share of studies, if "
        "the assumptions hold. It says nothing about the assumptions being wrong."
    ),
    "Everyone else": "All other groups of the variable together.",
    "p(y|x)": "The chance of having the condition given the symptoms.",
    "Informative cases": (
        "How many diagnosed patients the diagnosis-rate ratio effectively rests on; patients whose "
        "symptoms occur in one group only tell nothing."
    ),
    "Tipping point": "How wrong an assumption must be for the interval to reach 1.",
    "Concern": (
        "A check found more than chance or a stated limit allows. No concern does not prove that "
        "an assumption holds."
    ),
}
