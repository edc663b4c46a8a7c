"""Every public name has a docstring a reader can work with.

Functions and classes explain their parameters and results, as numpydoc's validation asks. A method
whose one line says all needs no more, but arrays have a shape, and methods an example (their own,
or a line in their class's). Nothing is said that only repeats a name. Fitted attributes are explained,
and what computes something names the module that opens with its formula.
"""

import inspect
import re
from enum import Enum
from importlib import import_module
from pathlib import Path

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc
from numpydoc.validate import validate

import relprev
from relprev.baselines import Oracle
from relprev.simulate import gauss_synth
from tests.docs.public import PUBLIC, is_property, members

# What numpydoc must not find; https://numpydoc.readthedocs.io/en/latest/validation.html
FAULTS = {
    "GL06": "unknown section", "GL07": "sections in the wrong order", "GL08": "no docstring",
    "SS01": "no summary", "SS02": "summary without a capital letter",
    "PR01": "parameter not documented", "PR02": "unknown parameter",
    "PR03": "parameters in another order", "PR04": "parameter without a type",
    "RT01": "no Returns section", "YD01": "no Yields section",
}  # fmt: skip
NEEDLESS = {"PR01", "RT01", "YD01"}  # sections that a method may do without
SMALL_WORDS = {"a", "an", "the", "of", "and", "or", "to", "in", "it", "for", "by", "with", "this", "that",
               "as", "be", "on", "are"}  # fmt: skip
NUMERIC = ("baselines", "checks", "inference", "model", "simulate")  # and what `relprev` takes
WITHOUT_FORMULA = {"relprev.Cohort", "relprev.Study", "relprev.as_cohort",
                   "relprev.checks.CheckResult", "relprev.checks.Verdict"}  # fmt: skip
FORMULAS = (Path(__file__).resolve().parents[2] / "docs" / "formulas.md").read_text()
METHODS = [
    (f"{path}.{name}", kind, value)
    for path, kind in PUBLIC.items()
    if inspect.isclass(kind)
    for name, value in members(kind)
]


def sections(value) -> dict:
    """A docstring as numpydoc reads it."""
    return ClassDoc(value) if inspect.isclass(value) else FunctionDoc(value)


def validated(path: str, allowed: frozenset[str] | set[str] = frozenset()) -> list[str]:
    asked = set(FAULTS) - set(allowed)
    return [f"{path}: {text}" for code, text in validate(path)["errors"] if code in asked]


def words_of(text: str) -> set[str]:
    """The words of a text that say something, in the singular."""
    found = re.findall(r"[a-z]+", text.lower().replace("_", " "))
    return {word.removesuffix("s") for word in found} - SMALL_WORDS


@pytest.mark.parametrize("path", PUBLIC)
def test_classes_and_functions_are_documented(path):
    value = PUBLIC[path]
    if inspect.isclass(value) and issubclass(value, Exception | Enum):
        assert value.__doc__  # their constructors take a message, or are Python's own
    else:
        assert not validated(path)
    assert any(sections(value)["Examples"]), f"{path} has no example"


@pytest.mark.parametrize(("path", "kind", "value"), METHODS, ids=[path for path, *_ in METHODS])
def test_methods_and_properties_are_documented(path, kind, value):
    if is_property(value):
        assert value.__doc__, path
        return
    owner = f"{value.__module__}.{value.__qualname__}"
    assert not validated(owner, NEEDLESS)
    name = path.rpartition(".")[2]
    examples = [FunctionDoc(value)["Examples"]]
    examples += [ClassDoc(base)["Examples"] for base in kind.__mro__ if base.__doc__]
    own, *of_classes = ["\n".join(lines) for lines in examples]
    shown = own or any(f".{name}(" in text for text in of_classes)
    assert shown, f"{path}: no example, neither its own nor a call in the class's"


@pytest.mark.parametrize("path", [*PUBLIC, *(path for path, *_ in METHODS)])
def test_arrays_have_a_shape(path):
    value = PUBLIC.get(path) or next(value for name, _, value in METHODS if name == path)
    if is_property(value):
        return
    documented = sections(value)
    for section in ("Parameters", "Attributes", "Returns"):
        for entry in documented[section]:
            words = entry.type or entry.name
            if re.search(r"\barrays?\b|\bmatrix\b", words):
                told = f"{words} {' '.join(entry.desc)}"
                assert "shape" in told, f"{path}: {entry.name} : {entry.type} has no shape"


@pytest.mark.parametrize("path", [*PUBLIC, *(path for path, *_ in METHODS)])
def test_no_line_only_repeats_the_name(path):
    value = PUBLIC.get(path) or next(value for name, _, value in METHODS if name == path)
    if is_property(value) or not value.__doc__:
        return
    documented = sections(value)
    known = words_of(path.rpartition(".")[2])
    for section in ("Parameters", "Attributes", "Returns", "Yields"):
        for entry in documented[section]:
            told = words_of(" ".join(entry.desc))
            said = known | words_of(f"{entry.name} {entry.type}")
            assert not entry.desc or told - said, f"{path}: {entry.name}: {entry.desc}"


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in PUBLIC
        if path not in WITHOUT_FORMULA and (path.count(".") == 1 or path.split(".")[1] in NUMERIC)
    ],
)
def test_what_computes_names_its_formula(path):
    named = re.findall(r":mod:`([\w.]+)`", PUBLIC[path].__doc__)
    assert named, f"{path}: its Notes should name the module that opens with the formula"
    for module in named:
        assert import_module(module).__doc__, module
        assert f"automodule:: {module}\n" in FORMULAS, f"{module} is missing in docs/formulas.md"


def test_fitted_attributes_are_explained():
    data = gauss_synth((0.5, 0.3), n=(500, 1000), seed=1)
    estimators = [relprev.PURPLE(lambdas=1e-3), relprev.DebiasedPURPLE(lambdas=1e-3)]
    fitted = [estimator.fit(data.cohort) for estimator in estimators]
    for estimator in [*fitted, Oracle().fit(data.cohort, condition=data.condition)]:
        found = {name for name in vars(estimator) if re.fullmatch(r"[a-z]\w*_", name)}
        told = {
            name.strip()
            for kind in type(estimator).__mro__
            if kind.__module__.startswith("relprev.")
            for entry in ClassDoc(kind)["Attributes"]
            for name in entry.name.split(",")
        }
        assert found <= told, f"{type(estimator).__name__}: {sorted(found - told)}"
