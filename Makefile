# MEAD for Spark. The targets need make and Python 3.11 or newer, and install everything else into .venv. Spark needs
# Java: apt-get installs it if it is missing and the user agrees.

VENV := .venv
RUN := $(VENV)/bin/python
PYTHON ?= python3

# The solvers work on many small matrices: a second BLAS thread costs more than it saves.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

PIP := $(RUN) -m pip --quiet --quiet
# Processes that run tests, all but one of which may start Spark (see tests/conftest.py). 0 debugs in one process.
PROCESSES ?= 3
BENCHMARKS ?= $(sort $(wildcard benchmarks/bench_*.py))
# Tables and figures of the papers, in virtual time.
PAPERS ?= mead-table1 mead-table2 mead-table3 mead-fig3 mead-traces mead-kpc mead-cost drs-fig6 drs-fig7 drs-fig8 drs-fig9 drs-demands drs-fig10 drs-table2 \
	pasps-models pasps-storm pasps-peers pasps-complex pasps-datasets \
	ppq-fig3 ppq-fig9 ppq-fig10 ppq-fig11 ppq-fig12 ppq-fig14 ppq-tables ppq-fig17 ppq-fig18

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: help install demo test test-slow lint format bench papers docs pictures lock clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

install: $(VENV)/.run ## Install MEAD with all extras into .venv (without Java, which Spark needs)
	@echo 'Ready. To put the command mead on the path: export PATH="$(CURDIR)/$(VENV)/bin:$$PATH"'

demo: $(VENV)/.java $(VENV)/.run ## Run the auto-scaled log analysis on local Spark for three minutes (report in runs/)
	@$(VENV)/bin/mead demo $(DEMO_ARGS)

test: $(VENV)/.java $(VENV)/.dev ## Run the tests, docstring examples and documentation examples (10 minutes)
	@$(RUN) -m pytest -n $(PROCESSES) $(PYTEST_ARGS)

test-slow: $(VENV)/.java $(VENV)/.dev ## Run the tests marked slow: clusters, restarts, the whole site (20 minutes)
	@$(RUN) -m pytest -n $(PROCESSES) -m slow $(PYTEST_ARGS)

lint: $(VENV)/.dev ## Check style, types and import directions
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy
	@$(VENV)/bin/lint-imports --no-logo

format: $(VENV)/.dev ## Format the code and fix what can be fixed automatically
	@$(RUN) -m ruff check --fix-only .
	@$(RUN) -m ruff format .

bench: $(VENV)/.java $(VENV)/.dev ## Run all benchmarks (BENCHMARKS=benchmarks/bench_queues.py runs one)
	@set -e; for benchmark in $(BENCHMARKS); do echo; echo "== $$benchmark"; $(RUN) $$benchmark; done

papers: $(VENV)/.dev ## Reproduce the papers' tables and figures, one to two hours (PAPERS="drs-fig6 drs-fig8" for some)
	@set -e; for paper in $(PAPERS); do echo; echo "== $$paper"; $(RUN) -m experiments $$paper $(PAPERS_ARGS); done

docs: $(VENV)/.dev ## Build the documentation into site/
	@$(RUN) -m typer mead.cli utils docs --name mead --title Commands --output docs/reference/commands.md
	@$(RUN) -m mead.config.reference docs/reference/pipeline-file.md
	@$(RUN) -m mead.web.prometheus.reference docs/reference/metrics.md
	@rm -rf docs/reference/api
	@$(RUN) -m sphinx --quiet --fail-on-warning --keep-going docs site
	@echo "Documentation: site/index.html"

pictures: $(VENV)/.dev ## Take the screenshots of the live page and draw the figures of the documentation
	@MEAD_PICTURES=docs/pictures $(RUN) -m pytest -q -m slow tests/web/test_pictures.py
	@$(RUN) tools/figures.py docs/pictures

lock: ## Update versions and hashes in requirements.lock and requirements-dev.lock
	@$(PYTHON) -m venv build/lock
	@build/lock/bin/python -m pip --quiet --quiet install uv
	@$(COMPILE) --extra all --output-file requirements.lock
	@$(COMPILE) --extra dev --constraint requirements.lock --output-file requirements-dev.lock

clean: ## Remove all generated files and .venv
	@rm -rf $(VENV) build dist out runs site docs/reference/api .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Hashes of all files of a release, from the index, without a download. The oldest Python that is supported decides.
COMPILE = $(BUILD_PACKAGES) | UV_CUSTOM_COMPILE_COMMAND='make lock' build/lock/bin/uv pip compile pyproject.toml - --quiet \
	--upgrade --generate-hashes --python-version 3.11 --annotation-style line
# The packages that build MEAD: the project is installed without an isolated environment.
BUILD_PACKAGES = $(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])' \
	| tr ' ' '\n'

# A virtual environment holds absolute paths: a copy of it would run the code of the folder in which it was made.
# So .venv records its folder, and is made again in any other.
ifneq ($(shell cat $(VENV)/.made-in 2>/dev/null),$(CURDIR))
.PHONY: $(VENV)/.made-in
endif

$(VENV)/.made-in:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "MEAD needs Python 3.11 or newer. If it has another name here: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "This Python cannot make virtual environments. On Debian and Ubuntu:" >&2; \
		$(PYTHON) -c 'import sys; print("    sudo apt-get install -y python%d.%d-venv" % sys.version_info[:2])' >&2; \
		exit 1; }
	@echo "Making $(VENV) ..."
	@$(PYTHON) -m venv --clear $(VENV)
	@echo "$(CURDIR)" > $@

# Java comes first: without it the other packages are of no use.
$(VENV)/.java: $(VENV)/.made-in
	@tools/java
	@touch $@

$(VENV)/.run: $(VENV)/.made-in requirements.lock pyproject.toml
	@echo "Installing MEAD ..."
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.lock
	@echo "Installing the packages for tests, checks, benchmarks and documentation ..."
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@touch $@
