# Everything is set up on first use, in .venv, and only once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test lint types unit browser docs slow bench evidence clean

help:  ## Show this help
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

demo: $(VENV)/.runtime  ## A whole study on simulated visits whose truth is known; the report in demo-output
	$(BIN)/relprev demo --out demo-output

test: lint types unit docs  ## Lint, types, tests and documentation

lint: $(VENV)/.dev  ## Style and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.dev  ## Static types
	$(BIN)/mypy

unit: $(VENV)/.dev  ## Tests
	$(BIN)/pytest -n auto --dist loadgroup

browser:  ## Debian's chromium, for the tests of the report's page (needs root)
	command -v chromium || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; }

docs: $(VENV)/.dev  ## Run the code on the pages, build them in docs/_build/html, check links
	$(BIN)/pytest -q docs
	rm -rf docs/_build docs/api
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -j auto docs docs/_build/html
	RELPREV_SITE=docs/_build/html $(BIN)/pytest -q -n 0 tests/docs/test_site.py

slow: $(VENV)/.dev  ## Simulations that take minutes
	$(BIN)/pytest -m slow

bench: $(VENV)/.bench  ## Benchmarks; results in benchmarks/results
	$(BIN)/python -m benchmarks

evidence: $(VENV)/.bench  ## Everything behind the evidence pages at a reduced size; pages in evidence-output
	$(BIN)/python -m evidence rerun --out evidence-output

clean:  ## Remove the environment and caches
	rm -rf $(VENV) demo-output evidence-output docs/_build docs/api docs/auto_gallery .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

$(VENV)/.pip:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "relprev needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	touch $@

$(VENV)/.runtime: $(VENV)/.pip pyproject.toml
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(BIN)/pip install --quiet --group dev
	touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/pip install --quiet --group bench
	touch $@
