# Two commands: `make demo` runs the main job on real input, `make test` runs the tests. Both set up .venv first.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
OUT    ?= demo
SITE   ?= site
# compiled when it is first imported: of most of what is installed only a part ever is
PIP    := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt
# our own modules at once: where processes may not write what they compile, each would compile them anew
COMPILED := $(BIN)/python -m compileall -q dse formulations results scenarios solvers
# without it every process that is started compiles all modules anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: statements crash demo environment test fast frozen fuzz lint types house wheel bench docs site floors clean slurm

demo: $(VENV)/.plain
	@mkdir -p $(OUT)
	$(BIN)/dse solve nbody_deadline
	$(BIN)/dse sweep nbody_deadline_sweep -o $(OUT)/sweep.zarr --workers 2 --plot $(OUT)/sweep.png
	$(BIN)/dse front nbody_energy_time_front -o $(OUT)/front.png -o $(OUT)/front.csv
	@echo; echo "made:"; ls -d $(OUT)/*

# three processes on two cores: some tests wait, and each process more imports and collects all tests once more
test: $(VENV)/.test
	$(BIN)/python -m pytest -n 3 --dist worksteal -q

fast: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not slow"

crash: $(VENV)/.test
	PYTHONPATH=. $(BIN)/python tests/crash/crashes.py 20
	PYTHONPATH=. $(BIN)/python tests/crash/damages.py 120

# what dse.solve says of every ready question on every machine of its model, to compare later versions with
frozen: $(VENV)/.test
	PYTHONPATH=. $(BIN)/python tests/frozen/frozen.py --make

# spoils files of every kind; a fault is made small and kept under tests/fuzz/found
fuzz: $(VENV)/.test
	$(BIN)/python tests/fuzz/fuzz.py --minutes $(or $(MINUTES),1) $(if $(SEED),--seed $(SEED))

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

house: $(VENV)/.dev
	$(BIN)/lint-imports

# how large the house is, room by room
statements:
	@$(PYTHON) .ci/statements.py

wheel: $(VENV)/.dev
	bash .ci/wheel $(BIN)/python

bench: $(VENV)/.test
	$(PIP) -e '.[test,bench]'
	$(BIN)/python -m benchmarks

# sweeps through a real SLURM on this machine, as root; says so where there is none (INSTALL=1: apt-get install it)
slurm: $(VENV)/.test
	$(PIP) -e '.[cluster]'
	PYTHONPATH=tests/oracle $(BIN)/python tests/cluster/slurm.py $(if $(INSTALL),--install)

# what docs/ shows of the program: model pages, references, and the output printed on the pages
docs: $(VENV)/.test
	$(BIN)/python -m dse.models
	$(BIN)/python docs/reference/generate.py
	$(BIN)/python docs/since_2014.py
	PYTHONPATH=tests/oracle $(BIN)/python tests/test_docs.py

site: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going -q -b html docs $(SITE)

floors:
	$(PYTHON) -m venv $(VENV)-floors
	$(VENV)-floors/bin/python -m pip install --quiet --disable-pip-version-check -c .ci/floors.txt -e '.[test]'
	$(VENV)-floors/bin/python -m pytest -n 2 --dist worksteal -q -m "not slow"

# all that the other targets need, installed at once and not one after the other
environment: $(VENV)/.all

$(VENV)/.all: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[test,dev,docs]'
	$(COMPILED)
	touch $(VENV)/.plain $(VENV)/.test $(VENV)/.dev $(VENV)/.docs $@

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.plain: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "installing dse and what it needs into $(VENV): 1 GB, some minutes"
	$(PIP) -e .
	$(COMPILED)
	touch $@

$(VENV)/.test: $(VENV)/.plain
	$(PIP) -e '.[test]'
	touch $@

$(VENV)/.dev: $(VENV)/.test
	$(PIP) -e '.[test,dev]'
	touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) -e '.[test,dev,docs]'
	touch $@

clean:
	rm -rf $(VENV) $(OUT) $(SITE) docs/auto_gallery build dist *.egg-info
