"""Named sets of codes."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import resources
from pathlib import Path

from relprev.codes.descriptions import describe
from relprev.codes.patterns import CodePattern, is_broad
from relprev.errors import InvalidInputError

SUITS = ("yes", "with care", "no", "")
ABOUT = ("title", "source", "suits", "note")


@dataclass(frozen=True)
class CodeSet:
    """A named set of codes.

    Parameters
    ----------
    name : str
        Short name of the set.
    patterns : tuple of CodePattern
        Codes, prefixes, ranges and expressions.
    title, source : str
        What it is and where it comes from.
    suits : str
        Whether the method suits the condition: ``"yes"``, ``"with care"``, ``"no"``, or empty if
        nobody has judged it.
    note : str
        Why, and what to keep in mind.
    descriptions : mapping of pattern (as printed) to text
        What its codes mean.

    Examples
    --------
    >>> ipv = code_set("ipv")
    >>> ("ICD9", "E9673") in ipv, ("ICD10", "E9673") in ipv, len(ipv.patterns)
    (True, False, 22)
    >>> pain = CodeSet.of("pelvic pain", {"ICD10:R10.2": "Pelvic pain", "ICD9:625*": ""})
    >>> pain.matching([("ICD9", "6259"), ("ICD9", "401")])
    {('ICD9', '6259')}
    >>> pain.to_rows()[0]
    ('ICD10', 'R102', 'Pelvic pain')
    """

    name: str
    patterns: tuple[CodePattern, ...]
    title: str = ""
    source: str = ""
    suits: str = ""
    note: str = ""
    descriptions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.patterns:
            raise InvalidInputError(f"code set {self.name!r} has no codes")
        if self.suits not in SUITS:
            raise InvalidInputError(
                f"code set {self.name!r}: suits must be one of {', '.join(map(repr, SUITS))}, got "
                f"{self.suits!r}"
            )

    @staticmethod
    def of(name: str, codes: Iterable[str] | Mapping[str, str], **about: str) -> CodeSet:
        """Make a set from patterns such as ``ICD10:N80*``, or a mapping of them to descriptions.

        ``about`` may give its ``title``, ``source``, ``suits`` and ``note``.
        """
        if isinstance(codes, str) or not isinstance(codes, Iterable):
            raise InvalidInputError(
                f'codes must be a list such as ["ICD10:N80*"], got {type(codes).__name__}'
            )
        texts = list(codes)
        if not all(isinstance(text, str) for text in texts):
            raise InvalidInputError(
                'codes must be strings that name their version, for example "ICD9:617", not numbers'
            )
        patterns = dict.fromkeys(CodePattern.parse(text) for text in texts)
        described = codes if isinstance(codes, Mapping) else dict.fromkeys(texts, "")
        descriptions = {str(CodePattern.parse(text)): words for text, words in described.items()}
        return CodeSet(name, tuple(patterns), descriptions=descriptions, **about)

    @staticmethod
    def read(path: str | Path) -> CodeSet:
        r"""Read a set, named after the file, from TOML (examples: ``relprev/data/code_sets``).

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        ...     _ = file.write('title = "Burns"\n[codes]\n"ICD10:T20*" = "Burn of head"\n')
        ...     file.flush()
        ...     CodeSet.read(file.name).title
        'Burns'
        """
        path = Path(path)
        if not path.is_file():
            raise InvalidInputError(f"there is no code set file at {path}")
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise InvalidInputError(f"{path} cannot be read; expected a TOML file") from None
        return _from_toml(path.stem, text)

    def may_share(self, other: CodeSet) -> bool:
        """Whether a code could be in both sets.

        Examples
        --------
        >>> burns = CodeSet.of("burns", ["ICD10:T20-T32"])
        >>> burns.may_share(CodeSet.of("chest burns", ["ICD10:T21.0*"]))
        True
        """
        return any(one.may_share(two) for one in self.patterns for two in other.patterns)

    def __contains__(self, code: tuple[str, str]) -> bool:
        return code in self._codes or any(pattern.matches(*code) for pattern in self._broad)

    @cached_property
    def _codes(self) -> frozenset[tuple[str, str]]:
        return frozenset((p.version, p.text) for p in self.patterns if p not in self._broad)

    @cached_property
    def _broad(self) -> tuple[CodePattern, ...]:
        """Prefixes, ranges and regular expressions."""
        return tuple(p for p in self.patterns if is_broad(p.text))

    def matching(self, codes: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
        """Those of the given (version, code) pairs, in canonical spelling, that are in the set."""
        return {code for code in codes if code in self}

    def cut_to(self, lengths: Mapping[str, int]) -> CodeSet:
        """The set for data that keep only the first ``lengths[version]`` characters of codes.

        Examples
        --------
        >>> [str(code) for code in code_set("ipv").cut_to({"ICD10": 4}).patterns[-4:]]
        ['ICD10:T741', 'ICD10:T761', 'ICD10:Y070', 'ICD10:Y079']
        """
        cut = dict.fromkeys(
            pattern.cut_to(lengths[pattern.version]) if pattern.version in lengths else pattern
            for pattern in self.patterns
        )
        return replace(self, patterns=tuple(cut), descriptions={})

    def to_toml(self) -> str:
        """The set as the text of a file that `CodeSet.read` reads.

        Examples
        --------
        >>> print(CodeSet.of("burns", {"ICD10:T20*": "Burn of head"}, title="Burns").to_toml())
        title = "Burns"
        <BLANKLINE>
        [codes]
        "ICD10:T20*" = "Burn of head"
        <BLANKLINE>
        """
        about = {key: getattr(self, key) for key in ABOUT}
        lines = [f"{key} = {_toml_text(words)}" for key, words in about.items() if words]
        lines += ["", "[codes]"]
        lines += [
            f"{_toml_text(str(p))} = {_toml_text(self.descriptions.get(str(p), ''))}"
            for p in self.patterns
        ]
        return "\n".join(lines) + "\n"

    def to_rows(self) -> list[tuple[str, str, str]]:
        """Version, code and description of every pattern."""
        return [
            (p.version, p.text, self.descriptions.get(str(p), "") or describe(p.version, p.text))
            for p in self.patterns
        ]


def code_set(name: str) -> CodeSet:
    """A set shipped with relprev, by name, or one in a TOML file, by path.

    Parameters
    ----------
    name : str
        Name of a shipped set, or path of a .toml file.

    Returns
    -------
    CodeSet
        Shipped, or read from the file.

    Examples
    --------
    >>> code_set("endometriosis").matching([("ICD10", "N801"), ("ICD10", "R51")])
    {('ICD10', 'N801')}
    """
    if name in code_set_names():
        text = (_folder() / f"{name}.toml").read_text(encoding="utf-8")
        return _from_toml(name, text)
    if name.endswith(".toml"):
        return CodeSet.read(name)
    from relprev.settings import suggestion  # loads pydantic, which only this error needs

    raise InvalidInputError(
        f"there is no code set {name!r}; {suggestion(name, code_set_names())} "
        "('relprev codes list' has titles); or give the path of a .toml file"
    )


def code_set_names() -> tuple[str, ...]:
    """Names of the shipped code sets.

    Returns
    -------
    tuple of str
        In alphabetical order.

    Examples
    --------
    >>> code_set_names()[:3]
    ('acute-myocardial-infarction', 'adhd', 'adult-maltreatment')
    """
    return tuple(sorted(f.name[:-5] for f in _folder().iterdir() if f.name.endswith(".toml")))


def _toml_text(text: str) -> str:
    """A TOML string; JSON's escapes are TOML's, and control characters are escaped in both."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _folder() -> resources.abc.Traversable:
    return resources.files("relprev") / "data" / "code_sets"


def _from_toml(name: str, text: str) -> CodeSet:
    try:
        content = tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInputError(f"code set {name!r} is not valid TOML: {error}") from None
    codes = content.get("codes")
    about = {key: content.get(key, "") for key in ABOUT}
    if not isinstance(codes, dict) or not all(
        isinstance(words, str) for words in (*codes.values(), *about.values())
    ):
        raise InvalidInputError(
            f"code set {name!r}: expected strings for {', '.join(ABOUT)}, and a table [codes] with "
            'lines such as "ICD10:N80*" = "Endometriosis"'
        )
    return CodeSet.of(name, codes, **about)
