# `make stage_loop` and `make test` set everything up themselves; a second call installs nothing again.
SHELL := /bin/bash
VENV ?= .venv
STAMP := $(VENV)/.installed
PY := $(VENV)/bin/python
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
# The first of these that runs and is new enough; `make PYTHON=...` takes another one.
PYTHON ?= $(shell for p in python3.11 python3; do $$p -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$p && exit; done; echo python3)
ARGS ?=
PYTEST_ARGS ?= -n 2 --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help venv stage_loop test lint type pytest check-solver check-engineer bench format doctor warmstart seeds clean

help:
	@echo "make stage_loop   install, then run the loop (ARGS='--run FOLDER --resume' and the like)"
	@echo "make test         install, then lint, type check and test"
	@echo "make check-solver the solver against independent methods (long; builds a peer, which takes a C++ compiler)"
	@echo "make check-engineer  100,000 fuzzed replies, a real server, and all context variants through the loop (long)"
	@echo "make bench        the solver's speed against a peer, as JSON lines"
	@echo "make doctor       versions, devices, and what is missing for which recipe"
	@echo "make warmstart    rebuild the shipped models from nothing (an hour or more)"
	@echo "make seeds        the gain over five seeds, a line each in experiments/results (RECIPE=starter-long SEEDS='0 1')"
	@echo "make format       let ruff rewrite the sources"
	@echo "make clean        remove the environment and the caches"

venv: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c '$(NEW_ENOUGH)' 2>/dev/null || { \
	  echo "lakeloop needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1 | tail -n 1). Install it, or name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "'$(PYTHON)' lacks venv or pip. Install them (on Debian: apt-get install python3-venv python3-pip), then try again." >&2; exit 1; }
	@echo "Setting up $(VENV) with $$($(PYTHON) --version): about 2 GB, a few minutes with a fast network, once."
	@$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

stage_loop: $(STAMP)
	$(PY) -m experiments.run stage_loop $(ARGS)

test: lint type pytest

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

type: $(STAMP)
	$(PY) -m mypy

# One thread: two OpenMP threads on busy cores are several times slower than one.
pytest: $(STAMP)
	OMP_NUM_THREADS=1 $(PY) -m pytest $(PYTEST_ARGS)

# The peer has to be compiled, so it is no part of the environment that everybody needs.
$(VENV)/.peer: $(STAMP)
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[peer]'
	@touch $@

check-solver: $(VENV)/.peer
	OMP_NUM_THREADS=1 $(PY) -m pytest $(PYTEST_ARGS) tests/slow --ignore=tests/slow/engineer

check-engineer: $(STAMP)
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[server]'
	OMP_NUM_THREADS=1 $(PY) -m tests.slow.engineer.replies
	OMP_NUM_THREADS=1 $(PY) -m pytest $(PYTEST_ARGS) tests/slow/engineer

bench: $(VENV)/.peer
	$(PY) -m tests.bench.solver $(ARGS)

format: $(STAMP)
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

doctor: $(STAMP)
	@$(PY) -m experiments.run doctor

warmstart: $(STAMP)
	$(PY) -m experiments.run warmstart $(ARGS)

# A run that was stopped goes on; every finished one leaves its line in experiments/results/.
SEEDS ?= 0 1 2 3 4
RECIPE ?= stage_loop
seeds: $(STAMP)
	@for seed in $(SEEDS); do \
	  run=runs/$(RECIPE)-seed$$seed; \
	  $(PY) -m experiments.run stage_loop --recipe $(RECIPE) --set seed=$$seed --run $$run \
	    $$(test -e $$run/recipe.yaml && echo --resume) || exit 1; \
	  $(PY) -m experiments.run gains $$run --out experiments/results/$(RECIPE).jsonl || exit 1; \
	done

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
