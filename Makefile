# Every recipe sets up what it needs in .venv, once, and again when pyproject.toml changes.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$name -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && break; done)
WORKERS ?= 2

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint types docs wheel bench bench-full fix clean

help: ## list the recipes
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.package ## an order assistant, compacted three ways
	@$(BIN)/ctxguard demo $(ARGS)

test: $(VENV)/.dev ## every test that needs no server; ARGS="-k pairing" narrows
	$(BIN)/pytest -n $(WORKERS) --dist worksteal $(ARGS)

lint: $(VENV)/.dev ## ruff, its formatter, and the floors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.dev ## mypy, strict
	$(BIN)/mypy

docs: $(VENV)/.docs ## numbers in the docs are the measured ones; examples and notebooks run; the site builds, in build/site
	$(BIN)/python scripts/numbers.py --check
	$(BIN)/pytest tests/test_docs.py tests/scripts/test_site.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	$(BIN)/python scripts/notebooks.py --check

wheel: $(VENV)/.dev ## the wheel holds the package and nothing else
	$(BIN)/python scripts/check_wheel.py

bench: $(VENV)/.dev ## a short run of the benchmarks; writes no result
	$(BIN)/python benchmarks/overhead.py --small $(ARGS)

bench-full: $(VENV)/.agentdojo ## the long run: writes benchmarks/results and the numbers in the docs, and searches longer for counterexamples
	$(BIN)/python benchmarks/overhead.py $(ARGS)
	$(BIN)/python benchmarks/compaction.py
	$(BIN)/python benchmarks/retention.py
	$(BIN)/python benchmarks/fields.py
	$(BIN)/python benchmarks/carried.py
	$(BIN)/python benchmarks/poisonings.py
	$(BIN)/python -m benchmarks.poison_trials
	$(BIN)/python benchmarks/extractive.py
	$(BIN)/python benchmarks/policy.py
	$(BIN)/python benchmarks/tool_calls.py
	$(BIN)/python benchmarks/tracing.py
	$(BIN)/python -m benchmarks.agentdojo
	$(BIN)/python -m benchmarks.store_trials
	$(BIN)/python -m benchmarks.version_trials
	$(BIN)/python -m benchmarks.consents
	$(BIN)/python -m benchmarks.recall
	$(BIN)/python -m benchmarks.storage
	$(BIN)/python -m benchmarks.judges.run
	$(BIN)/python scripts/numbers.py
	$(BIN)/pytest -n $(WORKERS) --hypothesis-profile=full --timeout=3600 tests

fix: $(VENV)/.dev ## let ruff mend and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove .venv and caches
	rm -rf $(VENV) .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist

# A stamp is written last, so an interrupted set-up starts again. The pip that comes with an older Python knows no dependency groups.
$(VENV)/.pip:
	$(if $(PYTHON),,$(error No Python 3.11 or newer that can make a virtual environment was found. Name one with make PYTHON=/path/to/python3; on Debian, install python3-venv))
	@echo "Setting up $(VENV) with $(PYTHON); this happens once."
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) install --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/.package: pyproject.toml | $(VENV)/.pip
	$(PIP) install --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.pip
	$(PIP) install --editable '.[postgres]' --group dev
	@touch $@ $(VENV)/.package

$(VENV)/.agentdojo: $(VENV)/.dev
	$(PIP) install --group agentdojo
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) install --group docs
	@touch $@
