"""The paper's experiments on Gauss-Synth: Figures 2B, S1A, S1B, S2A and S2B."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relprev.experiments.experiment import Experiment, Settings
from relprev.experiments.methods import COMPARED
from relprev.simulate import Simulation, gauss_synth

RATE_A = 0.5
RATES_B = (0.1, 0.3, 0.5, 0.7, 0.9)
PUBLISHED_RATE_B = 0.3  # of experiments that do not vary it
# The paper penalises nothing on these data: its PURPLE is "purple-no-penalty".
ALL_METHODS = ("purple-no-penalty", *COMPARED)
ROBUSTNESS_METHODS = ("purple-no-penalty", "purple", "purple-auc", "debiased", "observed")
A_MORE, B_MORE = "a more affected", "b more affected"


def simulate(settings: Settings, seed: int) -> Simulation:
    """Gauss-Synth with the given settings.

    ``rate_b`` is the diagnosis rate of group b; ``higher`` says which group is more affected.
    """
    options = {k: value for k, value in settings.items() if k not in ("rate_b", "higher")}
    ahead = A_MORE if settings.get("variant") == "published" else B_MORE
    if settings.get("higher", ahead) != ahead:  # the means change places
        options["group_gap"] = -options["group_gap"]
    return gauss_synth((RATE_A, settings.get("rate_b", RATE_A)), seed=seed, **options)


def _scenarios(
    full: Sequence[Settings], brief: Sequence[Settings], published: Settings | None = None
) -> Callable[[bool, str, str], list[Settings]]:
    """Scenarios of the full and the quick grid; ``published`` adds to those of that variant."""

    def scenarios(quick: bool, variant: str, data: str) -> list[Settings]:
        more = (published or {}) if variant == "published" else {}
        return [{"variant": variant, **more, **chosen} for chosen in (brief if quick else full)]

    return scenarios


def _values(key: str, values: Sequence[float]) -> list[Settings]:
    return [{key: value} for value in values]


def _rates(rates: Sequence[float]) -> list[Settings]:
    return [
        {"separable": separable, "rate_b": rate} for separable in (True, False) for rate in rates
    ]


def _alphas(gaps: Sequence[float], alphas: Sequence[float]) -> list[Settings]:
    return [
        {"higher": higher, "group_gap": gap, "alpha": alpha}
        for higher in (A_MORE, B_MORE)
        for gap in gaps
        for alpha in alphas
    ]


EXPERIMENTS = (
    Experiment(
        "gauss",
        "Separable and non-separable data",
        _scenarios(_rates(RATES_B), _rates((0.1, 0.9))),
        simulate,
        ALL_METHODS,
        x="rate_b",
        x_label="Diagnosis rate of group b (group a: 0.5)",
        panel="separable",
        published_methods={"negative": "negative-no-intercept", "sar-em": "sar-em-published"},
    ),
    Experiment(
        "group-gap",
        "Groups further and further apart",
        _scenarios(
            _values("group_gap", (0.0, 0.25, 0.5, 1.0, 2.0)),
            _values("group_gap", (0.0, 2.0)),
            {"rate_b": PUBLISHED_RATE_B},
        ),
        simulate,
        ROBUSTNESS_METHODS,
        x="group_gap",
        x_label="Distance between the groups' means",
    ),
    Experiment(
        "alpha",
        "p(y|x) lower in group b by the factor alpha",
        _scenarios(
            _alphas((0.5, 1.0, 2.0), (0.2, 0.4, 0.6, 0.8, 1.0)),
            _alphas((0.5, 2.0), (0.4, 1.0)),
            {"rate_b": PUBLISHED_RATE_B},
        ),
        simulate,
        ("purple-no-penalty",),
        x="alpha",
        x_label="alpha",
        panel="higher",
        series="group_gap",
    ),
    Experiment(
        "false-positives",
        "Some of the diagnosed do not have the condition",
        _scenarios(
            _values("false_positives", (0.0, 0.05, 0.1, 0.15, 0.2)),
            _values("false_positives", (0.0, 0.2)),
        ),
        simulate,
        ROBUSTNESS_METHODS,
        x="false_positives",
        x_label="Share of the diagnosed without the condition",
    ),
    Experiment(
        "selective-diagnosis",
        "Diagnosis that depends on a symptom",
        _scenarios(
            _values("selective", (0.0, 0.1, 0.25, 0.5, 1.0)), _values("selective", (0.0, 0.5))
        ),
        simulate,
        ROBUSTNESS_METHODS,
        x="selective",
        x_label="beta: diagnosis rate times sigma(beta x0)",
    ),
)
