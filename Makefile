# Every recipe sets up what it needs in .venv, once, and again when pyproject.toml changes.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$name -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && break; done)
WORKERS ?= 2

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint types docs wheel install-check lowest server-check compose-check bench bench-quick bench-full fix clean

help: ## list the recipes
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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

docs: $(VENV)/.docs ## numbers in the docs are the measured ones; examples and notebooks run; the site builds, in build/site, and fits a telephone
	$(BIN)/python scripts/numbers.py --check
	$(BIN)/python scripts/picture.py --check
	$(BIN)/pytest tests/test_docs.py tests/test_docs_blocks.py tests/test_docs_howto.py tests/test_readme.py tests/scripts/test_site.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	$(BIN)/python scripts/check_narrow.py build/site
	$(BIN)/python scripts/notebooks.py --check

wheel: $(VENV)/.dev ## the wheel holds the package and nothing else
	$(BIN)/python scripts/check_wheel.py

install-check: $(VENV)/.install ## sdist and wheel, installed clean and used under each Python 3.11 to 3.13 that is here
	$(BIN)/python scripts/check_install.py

lowest: $(VENV)/.install ## the oldest dependencies allowed, in an environment of their own, and tests over them
	$(BIN)/python scripts/check_install.py --lowest

server-check: $(VENV)/.install ## a guarded agent in LangGraph's development server, compacted over HTTP
	@test -x $(VENV)/server/bin/langgraph || $(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/server
	$(BIN)/uv pip install --quiet --python $(VENV)/server/bin/python --editable . --group server
	$(VENV)/server/bin/python scripts/check_server.py

compose-check: $(VENV)/.dev ## the order service as its Dockerfile and compose.yaml say, without Docker; needs CTXGUARD_TEST_POSTGRES
	$(BIN)/python scripts/check_compose.py

bench: $(VENV)/.dev ## every benchmark that needs no server, in under 20 minutes; writes benchmarks/results and the numbers in the docs
	$(BIN)/python -m benchmarks $(ARGS)

bench-quick: $(VENV)/.dev ## a small share of each benchmark, in under 2 minutes; writes nothing
	$(BIN)/python -m benchmarks --quick

bench-full: $(VENV)/.agentdojo ## everything, and a longer search for counterexamples; each part under an hour, begun again it goes on where it was
	WORKERS=$(WORKERS) $(BIN)/python -m benchmarks --full

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
	$(PIP) install --group agentdojo --group mutants
	@touch $@

$(VENV)/.install: pyproject.toml | $(VENV)/.pip
	$(PIP) install --group install
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) install --group docs
	@touch $@
