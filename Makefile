# Everything a developer types. `make` alone lists the targets.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= $(shell for p in python3.11 python3; do "$$p" -c '' 2>/dev/null && echo "$$p" && break; done)
VENV := .venv
PY := $(VENV)/bin/python
# The pip of the machine, for an environment: those made here have none of their own.
pip = $(PYTHON) -m pip --disable-pip-version-check --quiet --quiet --python $(1) install
# Modules are compiled when they are first imported, and kept: without that every process of the
# tests, and there are hundreds, would take twice as long.
unexport PYTHONDONTWRITEBYTECODE
WORKERS ?= 2
MINUTES ?= 5
SEED ?= 1
SECONDS ?= 60

# The stamps carry a checksum of what was installed and where, so that an unchanged clone never
# installs twice and a changed lock (or a moved folder) always does.
key = $(shell { cat $(1) 2>/dev/null; pwd; } | cksum | tr ' ' '-')
USER_READY := $(VENV)/.user-ready-$(call key,pyproject.toml requirements/user.txt)
READY := $(VENV)/.ready-$(call key,pyproject.toml requirements/user.txt requirements/ci.txt)
DOCS_READY := $(VENV)/.docs-ready-$(call key,pyproject.toml requirements/*.txt)

LOWEST := .venv-lowest
LOWEST_READY := $(LOWEST)/.ready-$(call key,pyproject.toml requirements/lowest.txt)

.PHONY: help demo test test-all test-lowest prepare compiled compiled-checked services as-shipped spark lint types house format fuzz fuzz-guided bench papers docs dist lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-23s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(USER_READY) ## Anonymize the embedded census table; results in build/demo
	@$(PY) -m shoal demo --out build/demo

# Every folder of tests/ is in one of three lists, so each test runs once (CONTRIBUTING.md, "What runs
# where"). HOUSE is part of `make lint`. Kernels are compiled without bounds checks: there a wrong
# index reads somebody else's memory. So folders where kernels do the work run with every index
# checked (that code has a cache of its own), and the others with the code that users get.
HOUSE := house
CHECKED := algorithm contract engine kernels measure oracle privacy property search
AS_SHIPPED := app benchmarks browser cli datasets db docs fuzz hierarchy io leaks life \
    packaging profile publish report settings sites study table unit
# A cluster of Spark waits as often as it works: its tests run beside those of AS_SHIPPED, in a
# process of their own.
SPARK := tests/engine/spark

SELECT := -m "not long"
PYTEST = $(PY) -m pytest --durations 10 $(SELECT)
PARALLEL := -n $(WORKERS) --dist worksteal
ifndef SHOAL_MAKE_BEGAN # a make that make calls began with it
export SHOAL_MAKE_BEGAN := $(shell date +%s)
endif

test: prepare ## Linters, house rules, types and all tests that are not long
	NUMBA_BOUNDSCHECK=1 $(PYTEST) $(PARALLEL) $(CHECKED:%=tests/%) --ignore $(SPARK)
	@$(MAKE) --no-print-directory --jobs 2 spark as-shipped SELECT='$(SELECT)'

as-shipped: $(READY)
	$(PYTEST) $(PARALLEL) $(AS_SHIPPED:%=tests/%)

spark: $(READY) # told when it is over, so that the lines of the others stay whole
	@told=$$($(PYTEST) $(SPARK) 2>&1); status=$$?; echo "$$told"; exit $$status

test-all: ## Every test: long ones, the whole product, more examples, kernels with and without checks
	$(MAKE) test SELECT= SHOAL_HYPOTHESIS_PROFILE=thorough
	$(PYTEST) $(PARALLEL) $(CHECKED:%=tests/%) --ignore $(SPARK)

# Where other packages do the work: reading, writing, frames, the command line. The default search
# is compiled and run; the other algorithms are our own arithmetic, the same whatever the version.
# Nothing is compiled for this numba yet when it begins, so one test may take long.
FAST_TESTS := tests/io tests/db tests/datasets tests/hierarchy tests/profile tests/settings \
    tests/table tests/publish tests/packaging tests/unit/test_api.py tests/unit/test_imports.py \
    tests/cli/test_cli_anonymize.py tests/cli/test_cli_commands.py tests/cli/test_cli_bad_input.py

test-lowest: $(LOWEST_READY) ## The fast tests with the lowest versions of every package
	@sh tools/setup_postgres.sh
	$(LOWEST)/bin/python -m pytest $(SELECT) $(PARALLEL) $(FAST_TESTS)

# Kernels are compiled while packages are on their way and while linters run: no core waits for
# another. Two processes for the same kernels would translate what these share twice.
prepare: $(USER_READY)
	@$(MAKE) --no-print-directory --jobs 5 services compiled compiled-checked lint

compiled: $(USER_READY)
	$(PY) -m shoal warm-up --all --processes 1

compiled-checked: $(USER_READY)
	NUMBA_BOUNDSCHECK=1 $(PY) -m shoal warm-up --all --processes 1

services: ## Install what tests need beside Python, where it is missing
	@sh tools/setup_chromium.sh
	@sh tools/setup_postgres.sh
	@sh tools/setup_java.sh

lint: $(READY) ## Linters, types and house rules
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	@$(MAKE) --no-print-directory --jobs 2 --output-sync types house

types: $(READY)
	$(PY) -m mypy --strict src

house: $(READY)
	$(PY) -m pytest --quiet $(HOUSE:%=tests/%)

format: $(READY) ## Format the code and fix what can be fixed safely
	$(PY) -m ruff check --fix-only
	$(PY) -m ruff format

fuzz: $(READY) ## Hunt for leaks, crashes and broken promises; MINUTES=5 SEED=1
	$(PY) -m fuzz --minutes $(MINUTES) --seed $(SEED)

fuzz-guided: $(READY) ## The same for readers of text, guided by coverage; SECONDS=60 for each
	@$(call pip,$(VENV)) "atheris>=2.3"
	$(PY) -m fuzz.guided --seconds $(SECONDS) --seed $(SEED)

bench: $(READY) ## List the benchmarks; make bench-NAME runs one, ARGS="..." are its options
	@$(PY) -m benchmarks

bench-%: $(READY)
	$(PY) -m benchmarks.$* $(ARGS)

papers: bench-papers ## The papers, reproduced: docs/results/papers.md; make papers-byun one part

papers-%: $(READY)
	$(PY) -m benchmarks.papers $* $(ARGS)

# Each version has a folder of its own, and lists those beside it.
docs: $(DOCS_READY) ## Build the documentation into build/docs; a warning is an error
	$(PY) -m sphinx --fail-on-warning --keep-going --quiet docs \
	    build/docs/$$($(PY) -c 'import shoal; print(shoal.__version__)')
	@echo "open build/docs/index.html"

DEMO_QI := --qi age,workclass,education_num,marital_status,occupation,race,sex,native_country

dist: $(READY) ## Build wheel and sdist into dist; check, install and try them
	$(PY) tools/dist.py
	@rm -rf build/dist && $(PYTHON) -m venv --without-pip build/dist/venv
	@$(call pip,build/dist/venv) --only-binary :all: --constraint requirements/user.txt dist/*.whl
	cd build/dist && env -u PYTHONPATH venv/bin/shoal demo --out demo
	cd build/dist && env -u PYTHONPATH venv/bin/shoal verify demo/adult_k10.csv --k 10 $(DEMO_QI)
	cd build/dist && env -u PYTHONPATH venv/bin/python -c \
	    "from shoal.datasets import load_adult; load_adult().head(500).write_csv('few.csv')"
	cd build/dist && env -u PYTHONPATH venv/bin/shoal anonymize few.csv -o few_k20.csv --k 20 \
	    $(DEMO_QI) --sensitive salary --quiet \
	    --drop fnlwgt,education,relationship,capital_gain,capital_loss,hours_per_week
	@! find build/dist/venv -path '*/__pycache__/kernels-*' -name '*.nb?' -type f | grep . || \
	    { echo "These kernels were compiled although the wheel should bring them." >&2; exit 1; }

lock: $(READY) ## Resolve the newest versions into requirements/
	$(PY) requirements/lock.py

clean: ## Remove the environment, builds and caches
	rm -rf $(VENV) $(LOWEST) .venv-spark35 build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache src/*.egg-info
	find src tests benchmarks fuzz tools requirements -name __pycache__ -type d -prune -exec rm -rf {} +

$(USER_READY):
	@test -n "$(PYTHON)" || { echo "Shoal needs Python 3.11 or newer; none was found." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "Shoal needs Python 3.11 or newer, $(PYTHON) is older; try make PYTHON=..." >&2; exit 1; }
	@rm -rf $(VENV)
	@$(PYTHON) tools/install.py $(VENV) requirements/user.txt
	@touch $@

$(READY): $(USER_READY)
	@$(PYTHON) tools/install.py $(VENV) requirements/ci.txt
	@touch $@

$(LOWEST_READY): $(READY)
	@rm -rf $(LOWEST)
	@$(PYTHON) tools/install.py $(LOWEST) requirements/lowest.txt
	@touch $@

$(DOCS_READY): $(READY)
	@$(PYTHON) tools/install.py $(VENV) requirements/docs.txt
	@touch $@
