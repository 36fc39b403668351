# Everything starts here; a machine needs Python 3.11 or newer and make, nothing else.
# uv is used when it is found (faster), otherwise venv and pip.

VENV := .venv
BIN := $(VENV)/bin
TORCH := .venv-torch
TARGET := He2(z1) + sign(z1*z2*z3)

# First interpreter that is new enough; `make PYTHON=/path/to/python ...` overrides.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$name && break; done)
UV := $(shell command -v uv 2>/dev/null)
export UV_PYTHON_DOWNLOADS := never
# Tests run on all cores already: more threads in each would only wait for each other.
export OPENBLAS_NUM_THREADS ?= 1
# Tests and studies start many processes: they share bytecode, also where the environment forbids it.
export PYTHONDONTWRITEBYTECODE :=

# venv,DIRECTORY creates an environment; install,DIRECTORY,WHAT fills it with constrained versions.
ifdef UV
venv = $(UV) venv --quiet --clear --seed --python $(PYTHON) $(1)
install = $(UV) pip install --quiet --python $(1)/bin/python -c constraints.txt $(2)
else
venv = $(PYTHON) -m venv --clear $(1) || { echo "On Debian and Ubuntu: apt install python3-venv"; exit 1; }
install = $(1)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(2)
endif

.DEFAULT_GOAL := help
.PHONY: help demo setup lint test test-slow test-load test-torch test-dist docs bench tour vendor constraints clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.core  ## install, then study an example target: summary and a report
	$(BIN)/gradone study "$(TARGET)" --budget 30 --out build/demo

setup: $(VENV)/.dev  ## the development environment in .venv

lint: $(VENV)/.dev  ## style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint  ## lint, fast and statistical tests, examples in docstrings
	$(BIN)/pytest -n 2 -m "not slow and not load and not figure and not gpu and not cluster"

test-slow: $(VENV)/.dev  ## the tests that take minutes, and the figures
	@tools/install_slurm.sh
	$(BIN)/pytest -n 2 -m "slow or figure"

test-load: $(VENV)/.dev  ## fifty people type, ten run and one disturbs in the lab, five minutes, nothing beside it
	$(BIN)/pytest -s -m load tests/lab/test_load.py

# An environment of its own: PyTorch and JAX are large, and only these tests need them. The checks of
# scikit-learn with arrays of other libraries run only if SciPy is told to take them as well.
test-torch: $(TORCH)/.ready  ## the tests with PyTorch and JAX: networks, training loops, arrays
	OMP_NUM_THREADS=1 SCIPY_ARRAY_API=1 $(TORCH)/bin/pytest -k "torch or jax" -m "not slow and not load and not figure and not gpu and not cluster"

# Leaves the repository while it tests: the wheel must not find its own source there.
test-dist: $(VENV)/.dev  ## build the wheel and run the README with it in a clean environment
	rm -rf build/dist
	$(BIN)/python -m build --wheel --outdir build/dist
	clean=$$(mktemp -d) && trap 'rm -rf "$$clean"' EXIT && \
	{ $(call venv,"$$clean/venv"); } && $(call install,"$$clean/venv",build/dist/*.whl) && \
	"$$clean/venv/bin/python" tools/run_pages.py README.md && \
	cd "$$clean" && venv/bin/gradone --version

docs: $(VENV)/.docs  ## the site, in docs/_build/html
	$(BIN)/sphinx-build -W --keep-going --quiet -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

bench: $(VENV)/.dev  ## the speed of what users wait for
	@set -e; for script in benchmarks/[a-z]*.py; do echo "== $$script"; $(BIN)/python "$$script"; done

tour: $(VENV)/.dev  ## recompute the curves of the tour that the lab is delivered with
	$(VENV)/bin/python -m gradone.lab.tour

vendor:  ## refresh the JavaScript, styles and fonts kept in the package (needs npm)
	$(PYTHON) tools/vendor.py

constraints:  ## recompute constraints.txt from pyproject.toml (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --all-extras --upgrade --no-annotate \
		--no-emit-index-url --no-emit-find-links --custom-compile-command "make constraints" \
		pyproject.toml --output-file constraints.txt

clean:  ## remove what was built (to start anew, delete .venv as well)
	rm -rf build dist docs/_build docs/gallery docs/reference/generated .coverage htmlcov \
		.hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests tools docs examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/pyvenv.cfg:
	@test -n "$(PYTHON)" || { echo "gradone needs Python 3.11 or newer and found none." \
		"Install one, or name it: make PYTHON=/path/to/python"; exit 1; }
	$(call venv,$(VENV))

# The stamps hold an installation until the requirements change.
$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/pyvenv.cfg
	$(call install,$(VENV),-e .)
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/pyvenv.cfg
	$(call install,$(VENV),-e ".[dev]")
	@touch $@ $(VENV)/.core

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/pyvenv.cfg
	$(call install,$(VENV),-e ".[docs]")
	@touch $@ $(VENV)/.core

$(TORCH)/.ready: pyproject.toml constraints.txt
	$(call venv,$(TORCH))
	$(call install,$(TORCH),-e ".[dev]" torch==2.13.0 jax==0.10.2)
	@touch $@
