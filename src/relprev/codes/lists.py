"""Code sets from lists that others publish: CSV files (OpenCodelists), and maps of phecodes."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from relprev.codes.patterns import CodePattern
from relprev.codes.sets import CodeSet
from relprev.codes.spelling import version_name
from relprev.codes.zeros import restored_zeros
from relprev.errors import InvalidInputError

LARGEST = 2**27  # bytes
ENCODINGS = ("utf-8-sig", "cp1252")
CODES = ("code", "icd", "icd9", "icd9cm", "icd10", "icd10cm", "icd_code", "icd_id")
TERMS = ("term", "description", "icd_str", "icd_name", "icd9 string", "icd10 string",
         "icd9cm_str", "icd10cm_str", "name")  # fmt: skip
VERSIONS = ("vocabulary_id", "flag", "icd_version", "vocabulary", "version")
PHECODE = "phecode"  # column of a map
NAMES = ("phenotype", "phecode_str", "phecode_name", "phecode_string")


def read_code_list(
    path: str | Path,
    version: str = "",
    *,
    code: str = "",
    term: str = "",
    children: bool = False,
    title: str = "",
) -> CodeSet:
    r"""Make a code set of a CSV file with one code per row, as OpenCodelists has them.

    Parameters
    ----------
    path : str or Path
        CSV file with a header. The set is named after it.
    version : str
        Vocabulary of the codes, such as ``"ICD10"`` or ``"SNOMED"``. It may be left out if a
        column of the file says it (vocabulary_id, icd_version) or is named after it (icd10).
    code, term : str
        Columns with codes and descriptions. Default: ``code`` and ``term``, or one of the other
        names in use.
    children : bool
        Match longer codes too: ``J45`` becomes ``J45*``. The lists of OpenCodelists are in the
        international ICD-10, whose codes ICD-10-CM divides further.
    title : str
        Its title. Default: the name of the file.

    Returns
    -------
    CodeSet
        With the file's name as its source.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("code,term\nJ45.0,Predominantly allergic asthma\n")
    ...     file.flush()
    ...     found = read_code_list(file.name, "ICD10", children=True)
    >>> found.to_rows()
    [('ICD10', 'J450*', 'Predominantly allergic asthma')]
    """
    path = Path(path)
    header, rows = _rows(path)
    if PHECODE in header and not code:
        raise InvalidInputError(
            f"{path.name} is a map of phecodes, whose codes together are no condition; take one of "
            "them by phecode= (read_phecodes)"
        )
    at = _column(header, code, CODES, "code", path, remedy="name the right one by code=")
    words = _column(header, term, TERMS, "term", path, needed=bool(term))
    return _code_set(path, header, rows, at, words, version, children, title or path.stem)


def read_phecodes(path: str | Path, phecode: str, version: str = "") -> CodeSet:
    r"""Make a code set of one phecode and those below it, from a map of ICD codes to phecodes.

    Parameters
    ----------
    path : str or Path
        CSV file with a row per ICD code, such as ``phecode_icd9_rolled.csv``,
        ``Phecode_map_v1_2_icd10cm_beta.csv`` or ``phecodeX_unrolled_ICD_CM.csv``.
    phecode : str
        Such as ``"495"`` (asthma), which includes 495.1, 495.11 and so on.
    version : str
        Vocabulary, if neither a column of the file nor its name says it.

    Returns
    -------
    CodeSet
        Named ``phecode-495``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("vocabulary_id,code,phecode\nICD9CM,493.0,495.1\nICD10CM,I10,401.1\n")
    ...     file.flush()
    ...     found = read_phecodes(file.name, "495")
    >>> found.name, [str(pattern) for pattern in found.patterns]
    ('phecode-495', ['ICD9:4930'])
    """
    path = Path(path)
    header, rows = _rows(path)
    at = _column(header, "", (PHECODE,), "phecode", path)
    wanted = _plain(phecode)
    below = f"{wanted}." if "." not in wanted else wanted
    rows = [row for row in rows if _plain(row[at]) == wanted or _plain(row[at]).startswith(below)]
    if not rows:
        raise InvalidInputError(f"{path.name} has no code for the phecode {phecode!r}")
    named = next((header.index(name) for name in NAMES if name in header), None)
    exact = [row[named].strip() for row in rows if named is not None and _plain(row[at]) == wanted]
    title = next(filter(None, exact), f"Phecode {wanted}")
    code = _column(header, "", CODES, "code", path)
    term = _column(header, "", TERMS, "term", path, needed=False)
    return _code_set(path, header, rows, code, term, version, False, title, f"phecode-{wanted}")


def read_phecode_sets(path: str | Path, version: str = "") -> list[CodeSet]:
    r"""Make code sets of all phecodes of a map, each with those below it.

    Parameters
    ----------
    path : str or Path
        CSV file, as for `read_phecodes`.
    version : str
        Vocabulary, if neither a column of the file nor its name says it.

    Returns
    -------
    list of CodeSet
        One for every whole phecode: ``phecode-495`` has the codes of 495, 495.1 and 495.11. In
        the order of the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("vocabulary_id,code,phecode\nICD9CM,493.0,495.1\nICD9CM,493.9,495\n")
    ...     file.flush()
    ...     found = read_phecode_sets(file.name)
    >>> [(one.name, [str(pattern) for pattern in one.patterns]) for one in found]
    [('phecode-495', ['ICD9:4930', 'ICD9:4939'])]
    """
    path = Path(path)
    header, rows = _rows(path)
    at = _column(header, "", (PHECODE,), "phecode", path)
    code = _column(header, "", CODES, "code", path)
    named = next((header.index(name) for name in NAMES if name in header), None)
    whole: dict[str, list[list[str]]] = {}
    titles: dict[str, str] = {}
    for row in rows:
        phecode = _plain(row[at])
        if phecode and row[code].strip():
            first = phecode.partition(".")[0]
            whole.setdefault(first, []).append(row)
            if named is not None and phecode == first:
                titles.setdefault(first, row[named].strip())
    if not whole:
        raise InvalidInputError(f"{path.name} has no code with a phecode")
    return [
        _code_set(path, header, own, code, -1, version, False,
                  titles.get(name) or f"Phecode {name}", f"phecode-{name}")
        for name, own in whole.items()
    ]  # fmt: skip


def _rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """Lower-case names of the columns, and all rows that have as many cells."""
    if not path.is_file():
        raise InvalidInputError(f"there is no code list at {path}")
    if path.stat().st_size > LARGEST:
        raise InvalidInputError(f"{path.name} is too large for a list of codes")
    content = path.read_bytes()
    for encoding in ENCODINGS:
        try:
            text = content.decode(encoding)
            break
        except UnicodeDecodeError:
            continue
    else:
        raise InvalidInputError(f"{path.name} is not a text file; expected a CSV file")
    try:
        header, *rows = csv.reader(io.StringIO(text, newline=""))
    except (ValueError, csv.Error):
        raise InvalidInputError(f"{path.name} cannot be read; expected a CSV file") from None
    names = [name.strip().lower() for name in header]
    uneven = sum(1 for row in rows if row and len(row) != len(names))
    if uneven:
        raise InvalidInputError(
            f"{path.name}: {uneven:,} rows do not have the {len(names)} cells of the header"
        )
    return names, [row for row in rows if row]


def _column(
    header: Sequence[str], given: str, usual: Sequence[str], what: str, path: Path,
    needed: bool = True, remedy: str = "is it the right file?",
) -> int:  # fmt: skip
    """Position of a column; -1 if there is none and none is needed."""
    names = [given.strip().lower()] if given else list(usual)
    found = [name for name in names if name in header]
    if not found and needed:
        named = repr(given) if given else f"of the {what}s"
        from relprev.settings import suggestion  # loads pydantic, which only this error needs

        hint = suggestion(given, list(header)) if given else f"it has {', '.join(header)}"
        raise InvalidInputError(f"{path.name} has no column {named}; {hint}; {remedy}")
    return header.index(found[0]) if found else -1


def _code_set(
    path: Path, header: Sequence[str], rows: list[list[str]], code: int, term: int, version: str,
    children: bool, title: str, name: str = "",
) -> CodeSet:  # fmt: skip
    versions = _versions(path, header, rows, header[code], version)
    codes = [row[code].strip() for row in rows]
    icd9 = [text for text, of in zip(codes, versions, strict=True) if of == "ICD9"]
    zeros = restored_zeros(icd9)
    words: dict[str, str] = {}
    for row, text, of in zip(rows, codes, versions, strict=True):
        if text:
            full = zeros.get(text, text) if of == "ICD9" else text
            pattern = CodePattern.parse(f"{of}:{full}{'*' if children else ''}")
            words.setdefault(str(pattern), row[term].strip() if term >= 0 else "")
    if not words:
        raise InvalidInputError(f"{path.name} holds no codes")
    return CodeSet.of(name or path.stem, words, title=title, source=path.name)


def _versions(
    path: Path, header: Sequence[str], rows: list[list[str]], code: str, version: str
) -> list[str]:
    if version:
        return [version_name(version)] * len(rows)
    column = next((header.index(name) for name in VERSIONS if name in header), None)
    if column is not None:
        return [version_name(row[column]) for row in rows]
    if code.startswith(("icd9", "icd10")):
        return [version_name(code)] * len(rows)
    raise InvalidInputError(
        f"{path.name} does not say which vocabulary its codes are of; give version=, such as "
        "'ICD10'"
    )


def _plain(phecode: str) -> str:
    """A phecode without padding, so that 008 is 8 and 495.10 is 495.1; phecodeX as it is."""
    text = phecode.strip()
    try:
        return f"{float(text):g}"
    except ValueError:
        return text.upper()
