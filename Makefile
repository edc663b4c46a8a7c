# Everything is set up on first use, in .venv, and only once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
NUMERIC := tests/matrix tests/rows tests/model tests/inference tests/checks tests/cohort/test_storage.py
KERNELS := tests/matrix tests/rows tests/model src/relprev/errors.py src/relprev/model src/relprev/inference \
           $(addprefix tests/inference/test_,missed.py moments.py nuisance.py propensity.py sampling.py score.py)

# A file of tests runs in one process, so that what its tests share is made once. Doctests, which are
# short, come last and even out.
SPREAD := -n auto --dist loadfile --no-loadscope-reorder

# An older processor: no instructions of the last fifteen years in our kernels, BLAS and NumPy.
OLDER = NUMBA_CPU_NAME=generic NUMBA_CACHE_DIR=.numba-older OPENBLAS_CORETYPE=Nehalem \
        NPY_DISABLE_CPU_FEATURES="$$($(BIN)/python -c 'from numpy._core._multiarray_umath import __cpu_dispatch__ as all; print(*all)')"

# Pythons that relprev is for; those on the path, and those that pyenv keeps, are tried.
PYTHONS ?= 3.11 3.12 3.13
KEPT := $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions

.PHONY: help demo test lint types unit older oldest pythons browser docs slow bench evidence release clean

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
	$(BIN)/pytest $(SPREAD) --durations=25

older: $(VENV)/.dev  ## Numeric tests and examples as an older processor, with one thread
	$(OLDER) RELPREV_NUM_THREADS=1 $(BIN)/pytest -q $(SPREAD) $(KERNELS)

oldest: $(VENV)/.dev  ## Numeric tests and a small study on the lowest versions of the dependencies
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python .venv-oldest
	$(BIN)/uv pip install -q --python .venv-oldest/bin/python --resolution lowest-direct --editable .
	$(BIN)/uv pip install -q --python .venv-oldest/bin/python pytest pytest-xdist hypothesis polars
	NUMBA_CACHE_DIR=.numba-oldest .venv-oldest/bin/python -m pytest -q $(SPREAD) $(NUMERIC) tests/test_lazy.py
	NUMBA_CACHE_DIR=.numba-oldest .venv-oldest/bin/relprev demo -q --visits 20000 --out .venv-oldest/demo

pythons: $(VENV)/.dev  ## Numeric tests and a small study on every Python of PYTHONS that this machine has
	@for version in $(PYTHONS); do \
	  for python in python$$version $(KEPT)/$$version.*/bin/python none; do $$python -c "" 2>/dev/null && break; done; \
	  [ $$python = none ] && { echo "Python $$version: not found, not tried"; continue; }; \
	  $$python --version; \
	  $(BIN)/uv venv -q --allow-existing --python $$python .venv-$$version && \
	  $(BIN)/uv pip install -q --python .venv-$$version/bin/python --editable . pytest pytest-xdist hypothesis polars && \
	  NUMBA_CACHE_DIR=.numba-$$version .venv-$$version/bin/python -m pytest -q $(SPREAD) $(NUMERIC) && \
	  NUMBA_CACHE_DIR=.numba-$$version .venv-$$version/bin/relprev demo -q --visits 20000 --out .venv-$$version/demo || exit 1; \
	done

browser:  ## Debian's chromium, for the tests of the report's page (needs root)
	command -v chromium || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; }

docs: $(VENV)/.dev  ## Run the code on the pages, build them in docs/_build/html, check links
	$(BIN)/pytest -q -n auto --dist loadfile docs
	rm -rf docs/_build docs/api
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -j auto docs docs/_build/html
	RELPREV_SITE=docs/_build/html $(BIN)/pytest -q -n 0 tests/docs/test_site.py

slow: $(VENV)/.dev  ## Simulations that take minutes
	$(BIN)/pytest -m slow

bench: $(VENV)/.bench  ## Benchmarks; results in benchmarks/results
	$(BIN)/python -m benchmarks

evidence: $(VENV)/.bench  ## Everything behind the evidence pages at a reduced size; pages in evidence-output
	$(BIN)/python -m evidence rerun --out evidence-output

release: $(VENV)/.dev  ## Build wheel and sdist, install the wheel in an empty environment and try it
	$(PIP) --group release
	$(BIN)/python release/check.py

clean:  ## Remove the environment and caches
	rm -rf $(VENV) .venv-* .numba-* dist demo-output evidence-output docs/_build docs/api docs/auto_gallery
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

$(VENV)/.pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "relprev needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	@echo "Setting up Python in $(VENV) (a few seconds) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade "pip>=25.1"
	@touch $@

$(VENV)/.runtime: $(VENV)/.pip pyproject.toml
	@echo "Installing relprev and what it needs (about half a minute, once) ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	@echo "Installing the tools for tests and documentation (about a minute, once) ..."
	@$(PIP) --group dev
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	@echo "Installing the packages that benchmarks compare with (about half a minute, once) ..."
	@$(PIP) --group bench
	@touch $@
