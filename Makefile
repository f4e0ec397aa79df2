# Everything a developer types. `make` alone lists the targets.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= $(shell for p in python3.11 python3; do "$$p" -c '' 2>/dev/null && echo "$$p" && break; done)
VENV := .venv
PY := $(VENV)/bin/python
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(PY) -m pip --quiet --quiet
WORKERS ?= 2

# The stamps carry a checksum of what was installed and where, so that an unchanged clone never
# installs twice and a changed lock (or a moved folder) always does.
key = $(shell { cat $(1) 2>/dev/null; pwd; } | cksum | tr ' ' '-')
READY := $(VENV)/.ready-$(call key,pyproject.toml requirements/ci.txt)
DOCS_READY := $(VENV)/.docs-ready-$(call key,pyproject.toml requirements/ci.txt requirements/docs.txt)

.PHONY: help demo test services lint format bench docs lock clean
.PHONY: papers papers-byun papers-li papers-lin papers-goldberger-tassa papers-utility papers-cross

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-23s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) ## Anonymize the embedded census table; results in build/demo
	@$(PY) -m shoal demo --out build/demo

test: services lint ## Linters, types and all tests
	$(PY) -m pytest -n $(WORKERS)

services: ## Install what tests need beside Python, where it is missing
	@sh tools/setup_chromium.sh
	@sh tools/setup_postgres.sh

lint: $(READY) ## Linters and types only
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy --strict src

format: $(READY) ## Format the code and fix what can be fixed safely
	$(PY) -m ruff check --fix-only
	$(PY) -m ruff format

bench: $(READY) ## Benchmarks; see benchmarks/run.py --help
	$(PY) benchmarks/run.py

papers: $(READY) ## The papers, reproduced: results, figures and docs/results/papers.md
	$(PY) -m benchmarks.papers

papers-byun: $(READY) ## Only Byun et al.: k-member and median partitioning
	$(PY) -m benchmarks.papers byun

papers-li: $(READY) ## Only Li et al.: KACA and Incognito
	$(PY) -m benchmarks.papers li

papers-lin: $(READY) ## Only Lin and Wei: OKA and k-member
	$(PY) -m benchmarks.papers lin

papers-goldberger-tassa: $(READY) ## Only Goldberger and Tassa: sequential clustering and four others
	$(PY) -m benchmarks.papers goldberger-tassa

papers-utility: $(READY) ## Only their open conjecture: do PMI releases predict better?
	$(PY) -m benchmarks.papers utility

papers-cross: $(READY) ## Only the cross table: every algorithm and measure
	$(PY) -m benchmarks.papers cross

docs: $(DOCS_READY) ## Build the documentation into build/docs; a warning is an error
	$(PY) -m sphinx --fail-on-warning --keep-going --quiet docs build/docs
	@echo "open build/docs/index.html"

lock: $(READY) ## Resolve the newest versions into requirements/
	$(PY) requirements/lock.py

clean: ## Remove the environment, builds and caches
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache src/*.egg-info
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY):
	@test -n "$(PYTHON)" || { echo "Shoal needs Python 3.11 or newer; none was found." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "Shoal needs Python 3.11 or newer, $(PYTHON) is older; try make PYTHON=..." >&2; exit 1; }
	@echo "Setting up $(VENV) (once, until the lock changes) ..."
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP) install --no-deps --requirement requirements/ci.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(DOCS_READY): $(READY)
	@$(PIP) install --no-deps --requirement requirements/docs.txt
	@touch $@
