# Everything starts here. A machine with Python 3.11 or newer and make needs nothing else: each command sets up, once,
# what it uses. PYTHON names an interpreter, VENV a folder for the environment.

VENV ?= .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check
PYTEST := $(PY) -m pytest
JOBS ?= 2

.DEFAULT_GOAL := help
.PHONY: help venv install dev model demo lab test check format bench notebooks build clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: install model ## a first answer from the embedded model: no key, no account
	@$(VENV)/bin/llmneutral demo

lab: $(VENV)/.lab-installed model ## JupyterLab on the lessons
	@# Jupyter takes the styles out of outputs that it does not trust: of those which came with this repository, too.
	@$(PY) -m jupyter trust notebooks/[0-9][0-9]-*.ipynb >/dev/null
	@# In a container there may be no other user than root, which Jupyter wants to be told.
	@$(PY) -m jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks/00-start.ipynb

test: dev model check ## the checks, and every test that can run here
	@# What drives a browser or the model waits for the quick ones to end: it wants the cores.
	$(PYTEST) -n $(JOBS) --dist loadfile -m "not browser and not live"
	LLMNEUTRAL_REQUIRE_LIVE=1 $(PYTEST) -n $(JOBS) --dist loadfile -m "browser or live"

check: dev ## style, types, and which way imports run; nothing is changed
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --no-cache

format: dev ## put the files into the form that check asks for
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: dev ## speed, as ratios to the official SDKs in the same run
	$(PY) -m tests.bench

notebooks: dev model ## run the lessons and save them with their outputs
	$(PY) -m tests.notebooks.lessons

build: dev ## the wheel and the source archive, in dist/
	$(PY) -m build

venv: $(PY) ## the empty environment
install: $(VENV)/.installed ## the library with the embedded model's engine
dev: $(VENV)/.dev-installed $(VENV)/.kernels-installed ## all that tests need

model: install ## fetch the embedded model (93 MB, once for this user)
	@$(VENV)/bin/llmneutral local install

clean: ## remove what builds and tools have made; the environment stays
	rm -rf dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find llmneutral widgets tests -name __pycache__ -type d -prune -exec rm -rf {} +

# ----------------------------------------------------------------------------------------------------------------------
# Set-up, once: each stamp is made again when the file that names what is installed has changed.

$(PY):
	@python=; \
	for candidate in $(PYTHON) python3 python3.13 python3.12 python3.11 python3.14 python; do \
	    if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	        python=$$candidate; break; \
	    fi; \
	done; \
	if [ -z "$$python" ]; then \
	    echo "llmneutral needs Python 3.11 or newer, and none was found. Install one, or name it: make PYTHON=/path/to/python3" >&2; \
	    exit 1; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then \
	    echo "$$python cannot make environments: its venv or ensurepip module is missing." >&2; \
	    echo "On Debian and Ubuntu: apt-get install python3-venv. Or name another one: make PYTHON=/path/to/python3" >&2; \
	    exit 1; \
	fi; \
	echo "Making $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(PY)
	@echo "Installing llmneutral into $(VENV) (once)"
	@$(PIP) install --quiet --editable '.[local]'
	@touch $@

$(VENV)/.lab-installed: pyproject.toml | $(PY)
	@echo "Installing llmneutral and JupyterLab into $(VENV) (once)"
	@$(PIP) install --quiet --editable '.[local,lab]'
	@touch $@ $(VENV)/.installed

$(VENV)/.dev-installed: pyproject.toml | $(PY)
	@echo "Installing llmneutral and all that its tests need into $(VENV) (once, a few minutes)"
	@$(PIP) install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.installed $(VENV)/.lab-installed

# Older ipykernels, beside the environment's packages: only a test that names one finds it.
$(VENV)/.kernels-installed: tests/kernels.py | $(VENV)/.dev-installed
	@echo "Installing the older ipykernels that the tests run, too (once)"
	@$(PY) -m tests.kernels
	@touch $@
