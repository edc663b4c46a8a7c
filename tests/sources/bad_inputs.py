"""Bad inputs of sources, cohorts and codes: how to make each, and what must be said about it.

Every entry is a study file with its data. `SECRET` stands in the data or in addresses where
it could slip into a message; no message may hold it.
"""

from __future__ import annotations

import bz2
import gzip
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pandas as pd

SECRET = "hunter2-4711"
TABLES = '[source]\nkind = "tables"\nvisits = "visits.csv"\ncodes = "codes.csv"\n' \
         'visit_id = "id"\ncode = "code"\nversion = "version"\nage = "age"\n' \
         'attributes = ["ward", "note"]\n'  # fmt: skip
CONDITION = 'condition = {name = "pain", codes = ["ICD10:R52*"]}\n'
GROUPS = '[[groups]]\ncolumn = "ward"\n'
OMOP = '[source]\nkind = "omop"\n'
Change = Callable[[Path], object]


@dataclass(frozen=True)
class BadInput:
    """A study that cannot be done.

    Parameters
    ----------
    name : str
    words : str
        Regular expression for what the error must say.
    study : str
        The study file.
    change : function of a folder
        Spoils the good tables in the folder, or adds files.
    """

    name: str
    words: str
    study: str = CONDITION + TABLES + GROUPS
    change: Change = lambda folder: None

    def write(self, folder: Path) -> Path:
        """Write data and study file into an empty folder; returns the study file."""
        n = 60
        visits = pd.DataFrame({"id": range(n), "age": [20 + k % 50 for k in range(n)],
                               "ward": ["N", "S"] * (n // 2), "note": SECRET,
                               "w": 1.0})  # fmt: skip
        visits.to_csv(folder / "visits.csv", index=False)
        codes = pd.DataFrame({"id": range(n), "code": ["R52.1", "R51", "I10"] * (n // 3),
                              "version": "ICD10"})  # fmt: skip
        codes.to_csv(folder / "codes.csv", index=False)
        self.change(folder)
        file = folder / "study.toml"
        file.write_text(self.study, encoding="utf-8")
        return file


def edit(name: str, old: str, new: str, count: int = 1) -> Change:
    """Change a text in a file."""

    def change(folder: Path) -> None:
        file = folder / name
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, count))

    return change


def write(name: str, content: bytes | str) -> Change:
    data = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / name).write_bytes(data)


def packed(name: str, members: dict[str, bytes]) -> Change:
    def change(folder: Path) -> None:
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, content in members.items():
                archive.writestr(member, content)

    return change


def database(sql: str) -> Change:
    def change(folder: Path) -> None:
        with duckdb.connect(str(folder / "cdm.duckdb")) as connection:
            connection.execute(sql.replace("FOLDER", str(folder)))

    return change


def source(name: str, words: str, old: str, new: str, change: Change | None = None) -> BadInput:
    """A study whose ``[source]`` (or another line) is changed."""
    text = CONDITION + TABLES + GROUPS
    assert old in text
    return BadInput(name, words, text.replace(old, new, 1), change or (lambda folder: None))


def data(name: str, words: str, change: Change) -> BadInput:
    return BadInput(name, words, change=change)


def omop(name: str, words: str, line: str, change: Change | None = None) -> BadInput:
    return BadInput(name, words, CONDITION + OMOP + line + GROUPS, change or (lambda folder: None))


def meds(name: str, words: str, lines: str) -> BadInput:
    return BadInput(name, words, CONDITION + '[source]\nkind = "meds"\n' + lines + GROUPS)


VISITS = 'visits = "visits.csv"'
ADDRESS = f"postgresql://me:{SECRET}@127.0.0.1:1/db?connect_timeout=2"
NO_TEXT = "should be a string"
BAD_INPUTS = [
    # files that are not there, or not what their names promise
    source("no file", "expected a file at", VISITS, 'visits = "nothing.csv"'),
    source("a folder", "found a folder", VISITS, 'visits = "."'),
    source("a pattern", "expected a file at", VISITS, 'visits = "v*.csv"'),
    source("a set of signs", "expected a file at", VISITS, 'visits = "visit[s].csv"'),
    source("a question mark", "expected a file at", VISITS, 'visits = "visit?.csv"'),
    source("an unknown ending", r"expected \.csv", VISITS, 'visits = "study.toml"'),
    source("text named parquet", "not a Parquet file", VISITS, 'visits = "visits.parquet"',
           write("visits.parquet", f"id,note\n1,{SECRET}\n")),
    source("text named Stata", "not a readable Stata file", VISITS, 'visits = "visits.dta"',
           write("visits.dta", SECRET * 50)),
    source("text named SAS", "not a readable SAS file|pyreadstat", VISITS,
           'visits = "visits.sas7bdat"', write("visits.sas7bdat", SECRET * 50)),
    source("text named gzip", "cannot be read", VISITS, 'visits = "visits.csv.gz"',
           write("visits.csv.gz", f"id,note\n1,{SECRET}\n")),
    source("truncated gzip", "truncated", VISITS, 'visits = "visits.csv.gz"',
           write("visits.csv.gz", gzip.compress(b"id,age,ward,note\n" + b"1,2,N,x\n" * 999)[:-20])),
    source("text named zip", "cannot be unpacked", VISITS, 'visits = "visits.zip"',
           write("visits.zip", SECRET * 50)),
    source("text named bz2", "cannot be unpacked", VISITS, 'visits = "visits.csv.bz2"',
           write("visits.csv.bz2", SECRET * 50)),
    source("two files in a zip", "contains 2 files", VISITS, 'visits = "visits.zip"',
           packed("visits.zip", {"a.csv": b"id\n1\n", "b.csv": b"id\n1\n"})),
    source("an empty zip", "contains 0 files", VISITS, 'visits = "visits.zip"',
           packed("visits.zip", {})),
    source("a zip bomb", "100 times its size", VISITS, 'visits = "visits.zip"',
           packed("visits.zip", {"visits.csv": bytes(2**28 + 2**21)})),
    source("a bz2 bomb", "100 times its size", VISITS, 'visits = "visits.csv.bz2"',
           lambda folder: (folder / "visits.csv.bz2").write_bytes(
               bz2.compress(bytes(2**24)) * 17)),
    data("an empty file", r"visits\.csv is empty", write("visits.csv", "")),
    data("a header alone", "has no rows", write("visits.csv", "id,age,ward,note\n")),
    data("one endless line", r"lacks the columns|cannot be read",
         write("visits.csv", b"x" * (5 * 2**20))),
    data("an open quotation mark", "cannot be read",
         edit("visits.csv", SECRET, f'"{SECRET}')),
    data("a line too long", "number of columns", edit("visits.csv", f"{SECRET},", f"{SECRET},7,")),
    data("not UTF-8", "UTF-8", lambda folder: (folder / "visits.csv").write_bytes(
        b"id,age,ward,note\n1,30,\xff\xfe\xfa,x\n")),
    data("semicolons", "contains semicolons", edit("visits.csv", ",", ";", -1)),
    # columns
    data("a column is missing", "lacks the column ward", edit("visits.csv", "ward", "wrd")),
    data("several are missing", "lacks the columns id, age",
         edit("visits.csv", "id,age", "x,y")),
    data("a column twice", "more than one column named 'ward'",
         edit("visits.csv", "note", "ward")),
    data("a column twice, in upper case", "more than one column named 'ward'",
         edit("visits.csv", "note", "WARD")),
    source("an attribute of another meaning", "has a fixed meaning", '"note"', '"visit"',
           edit("visits.csv", "note", "visit")),
    source("an attribute instead of its key", "give age = 'age'",
           'age = "age"\nattributes = ["ward", ', 'attributes = ["age", "ward", '),
    # rows
    data("an identifier twice", "identify a row", edit("visits.csv", "\n1,", "\n0,")),
    data("an identifier is missing", "is missing in 1 rows", edit("visits.csv", "\n1,", "\n,")),
    data("codes of unknown visits", "match no row", edit("codes.csv", "\n1,", "\n9999,")),
    data("a code without a version", "version is missing", edit("codes.csv", "R51,ICD10", "R51,")),
    source("the wrong version column", "fewer|more than 100|version|did you mean ICD9",
           'version = "version"', 'version = "id"'),
    source("weights of text", r"\(weight\) must hold numbers", 'age = "age"',
           'age = "age"\nweight = "note"'),
    source("a negative weight", r"\(weight\) must hold numbers", 'age = "age"',
           'age = "age"\nweight = "w"', edit("visits.csv", ",1.0\n", ",-1\n")),
    source("a weight of 1e308", r"\(weight\) must hold numbers", 'age = "age"',
           'age = "age"\nweight = "w"', edit("visits.csv", ",1.0\n", ",1e308\n")),
    source("an infinite weight", r"\(weight\) must hold numbers", 'age = "age"',
           'age = "age"\nweight = "w"', edit("visits.csv", ",1.0\n", ",inf\n")),
    # spreadsheets, encodings, dates, flags
    source("text named Excel", "not a readable spreadsheet|python-calamine", VISITS,
           'visits = "visits.xlsx"', write("visits.xlsx", SECRET * 50)),
    source("a bomb named Excel", "100 times its size|python-calamine", VISITS,
           'visits = "visits.xlsx"', packed("visits.xlsx", {"a.xml": bytes(2**28 + 2**21)})),
    source("an unknown encoding", "is not known; expected utf-8, cp1252", VISITS,
           VISITS + '\nencoding = "cp12520"'),
    source("the wrong encoding", "not ascii text", VISITS, VISITS + '\nencoding = "ascii"',
           edit("visits.csv", SECRET, SECRET + "\u00e9")),
    data("UTF-16 without its mark", "UTF-16 .* encoding = 'utf-16-le'", lambda folder: (
        folder / "visits.csv").write_bytes(
            (folder / "visits.csv").read_text().encode("utf-16-le"))),
    source("years of two digits", "give date_format, such as", 'age = "age"', 'date = "w"',
           edit("visits.csv", ",1.0\n", ",03/31/19\n", -1)),
    source("text for a date", "holds no dates in a known format", 'age = "age"', 'date = "note"'),
    source("dates of two formats", "59 of 60 values|1 of 60 values", 'age = "age"',
           'date = "w"', lambda folder: (edit("visits.csv", ",1.0\n", ",2019-01-31\n", -1)(folder),
                                         edit("visits.csv", "2019-01-31", SECRET)(folder))),
    source("days or months", "give date_format", 'age = "age"', 'date = "w"',
           edit("visits.csv", ",1.0\n", ",03/04/2019\n", -1)),
    source("a birth without a visit's date", "give date, and no age", 'age = "age"',
           'birth_date = "w"'),
    source("a year of text", "year: column 'note' holds no numbers", 'age = "age"',
           'age = "age"\nyear = "note"'),
    source("an age of text", "age: column 'note' holds no numbers", 'age = "age"', 'age = "note"'),
    source("too few flags", "as many columns as code has", 'age = "age"',
           'age = "age"\npresent_on_admission = ["a", "b"]'),
    source("flags of text", "hold something else than Y", 'age = "age"',
           'age = "age"\npresent_on_admission = "version"'),
    source("a position that is no column", "give the column of the codes table", 'age = "age"',
           'age = "age"\nposition = true'),
    source("no file of formats", "formats: expected a file", 'age = "age"',
           'age = "age"\nformats = "formats.sas7bcat"'),
    data("codes that lost their zeros", "lost leading zeros|fewer than three digits",
         lambda folder: (folder / "codes.csv").write_text("id,code,version\n1,38,9\n2,389,9\n")),
    data("procedures for diagnoses", "procedure codes", lambda folder: (
        folder / "codes.csv").write_text("id,code,version\n1,38.93,9\n2,45.13,9\n")),
    # keys of [source]
    source("an unknown kind", "did you mean 'tables'", '"tables"', '"table"'),
    source("an unknown key", "did you mean 'visit_id'", "visit_id", "visitid"),
    source("a key is missing", "this key is missing", 'visit_id = "id"\n', ""),
    source("a number for a path", NO_TEXT, VISITS, "visits = 3"),
    source("a list for a path", NO_TEXT, VISITS, f'visits = ["{SECRET}"]'),
    source("a table for a path", NO_TEXT, VISITS, f'visits = {{path = "{SECRET}"}}'),
    source("a path with a zero", "control character", VISITS,
           'visits = "a\\u0000b.csv"'),
    # addresses
    source("an address for a file", "not shown", VISITS, f'visits = "{ADDRESS}"'),
    source("keywords for a file", "not shown", VISITS, f'visits = "host=h password={SECRET}"'),
    source("addresses in a list", NO_TEXT, VISITS, f'visits = ["{ADDRESS}"]'),
    omop("no server", "PostgreSQL", f'database = "{ADDRESS}"\n'),
    omop("upper case", "PostgreSQL", f'database = "{ADDRESS.replace("postgresql", "POSTGRES")}"\n'),
    omop("a driver", "PostgreSQL", f'database = "{ADDRESS.replace("ql:", "ql+psycopg2:")}"\n'),
    omop("keywords", "PostgreSQL", f'database = "host=127.0.0.1 port=1 password={SECRET}"\n'),
    omop("an IPv6 typo", "PostgreSQL", f'database = "postgresql://me:{SECRET}@[::1/db"\n'),
    omop("another database", "PostgreSQL", f'database = "mysql://me:{SECRET}@h/db"\n'),
    omop("a list", NO_TEXT, f'database = ["{ADDRESS}"]\n'),
    # databases
    omop("no database", "no folder or DuckDB file", 'database = "cdm.duckdb"\n'),
    omop("a folder without tables", r"has no person\.parquet", 'database = "."\n'),
    omop("text named DuckDB", "not a DuckDB database", 'database = "cdm.duckdb"\n',
         write("cdm.duckdb", SECRET * 50)),
    omop("a database without tables", "no table person", 'database = "cdm.duckdb"\n',
         database("CREATE TABLE other (x INTEGER)")),
    omop("a view", "person in cdm.duckdb is a view", 'database = "cdm.duckdb"\n',
         database("CREATE VIEW person AS FROM read_csv('FOLDER/visits.csv')")),
    omop("a table without columns", "person lacks", 'database = "cdm.duckdb"\n',
         database("CREATE TABLE person (person_id INTEGER)")),
    omop("a database without people's times", "observation_period.* needed by unit = 'person'",
         'database = "cdm.duckdb"\nunit = "person"\n',
         database("CREATE TABLE person (person_id INT, gender_concept_id INT, year_of_birth INT, "
                  "month_of_birth INT, day_of_birth INT, race_concept_id INT, "
                  "ethnicity_concept_id INT)")),
    omop("an unknown choice", "codes must be 'source' or 'standard'",
         'database = "."\ncodes = "all"\n'),
    omop("an unknown unit", "available: visit, person", 'database = "."\nunit = "stay"\n'),
    omop("people with visits", "match is for unit='visit'",
         'database = "."\nunit = "person"\nmatch = "date"\n'),
    omop("a window without a date", "start must be a date such as",
         f'database = "."\nstart = "{SECRET}"\n'),
    omop("a window that ends first", "start must not be after end",
         'database = "."\nstart = 2021-01-01\nend = 2020-01-01\n'),
    omop("concepts without names", "it should be a table", 'database = "."\nconcepts = [500]\n'),
    omop("concepts that are no numbers", "valid integer",
         f'database = "."\nconcepts = {{a = ["{SECRET}"]}}\n'),
    omop("a set without concepts", r"concepts\.a must not be empty",
         'database = "."\nconcepts = {a = []}\n'),
    omop("a concept set that is not there", "there is no file at",
         'database = "."\nconcept_sets = "a.json"\n'),
    omop("a concept set that is none", "is not a JSON file; export the concept set from ATLAS",
         'database = "."\nconcept_sets = "a.json"\n', write("a.json", SECRET)),
    # MEDS
    meds("no dataset", "expected a folder or a Parquet file", 'path = "nowhere"\n'),
    meds("a folder without events", "no Parquet files in a folder 'data'", 'path = "."\n'),
    meds("a table that is no Parquet", "not a Parquet file", 'path = "visits.csv"\n'),
    meds("an end without an anchor", "anchor is missing", 'path = "."\nend = "OUT"\n'),
    meds("an address for a dataset", "not shown|expected a folder", f'path = "{ADDRESS}"\n'),
    meds("no days", "days must be more than 0", 'path = "."\nanchor = "IN"\ndays = -1\n'),
    # conditions and codes
    source("codes as numbers", "codes must be strings", '["ICD10:R52*"]', "[617]"),
    source("a code as a number", "codes must be a list", '["ICD10:R52*"]', "617"),
    source("a code of no version", "VERSION:code", "ICD10:R52*", "R52*"),
    source("a bad expression", "not a valid regular expression", "ICD10:R52*", "ICD10:/R52(/"),
    source("no codes", "has no codes", '["ICD10:R52*"]', "[]"),
    source("an unknown set", "there is no code set", CONDITION, 'condition = "pains"\n'),
    source("a set that is no file", "no code set file", CONDITION, 'condition = "pain.toml"\n'),
    source("a set of numbers", "expected strings", CONDITION, 'condition = "pain.toml"\n',
           write("pain.toml", "codes = [617]\n")),
    source("a set that is no TOML", "not valid TOML", CONDITION, 'condition = "pain.toml"\n',
           write("pain.toml", "codes = [\n")),
    source("codes nobody has", "has a code of", "ICD10:R52*", "ICD10:Z99*"),
    # groups, rules and features
    source("an unknown column", "no wrd", 'column = "ward"', 'column = "wrd"'),
    source("a value in two groups", "in more than one group", GROUPS,
           GROUPS + '[groups.recode]\nA = ["N"]\nB = ["N", "S"]\n'),
    source("groups of one name", "names must differ", GROUPS, GROUPS * 2),
    source("groups of one name in upper case", "names must differ", GROUPS,
           GROUPS + GROUPS + 'name = "WARD"\n'),
    source("a name that cannot be printed", "cannot be printed|control character", GROUPS,
           GROUPS + 'name = "a\\u0007b"\n'),
    source("too many groups", "at most 1,000", GROUPS, GROUPS + "[groups.recode]\n"
           + "".join(f'g{k} = ["{k}"]\n' for k in range(40_000))),
    source("one group", "at least two are needed", GROUPS,
           GROUPS + '[groups.recode]\nA = ["N"]\n'),
    source("edges on text", r"features\.extra: note holds text", GROUPS,
           GROUPS + '[[features.extra]]\ncolumn = "note"\nedges = [1, 2]\n'),
    source("edges that fall", "edges must be increasing", GROUPS,
           GROUPS + '[[features.extra]]\ncolumn = "age"\nedges = [2, 1]\n'),
    source("a feature twice", "columns must be distinct", GROUPS,
           GROUPS + '[[features.extra]]\ncolumn = "age"\n' * 2),
    source("a minimum of text", "include: note holds text", GROUPS,
           GROUPS + '[[include]]\ncolumn = "note"\nminimum = 1\n'),
    source("a rule nobody meets", "no visits remain", GROUPS,
           GROUPS + '[[include]]\ncolumn = "age"\nminimum = 500\n'),
    source("a rule without an end", "either minimum/maximum or one_of", GROUPS,
           GROUPS + '[[include]]\ncolumn = "age"\n'),
    source("no feature is common enough", "no features remain", GROUPS,
           "[features]\nmin_count = 1000\n" + GROUPS),
    BadInput("too many simulated visits", "visits must be from 1 to",
             CONDITION + '[source]\nkind = "simulated"\nvisits = 1000000000000000\n'
             '[[groups]]\ncolumn = "group"\n'),
]  # fmt: skip
