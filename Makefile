# Two commands, each complete on a machine that has only Python >= 3.11 and make:
#   make demo    roll out two scripted policies over the operators and show every verdict
#   make test    everything that a change must pass
# The rest: make lint, make names, make clean.

PYTHON ?= python3
# Where torch's CPU build comes from when pip's own sources lack it.
INDEX ?= https://download.pytorch.org/whl/cpu
TORCH = torch==2.13.0+cpu

BIN = .venv/bin
STAMP = .venv/installed

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo test lint names clean
.DEFAULT_GOAL = test

demo: $(STAMP)
	@echo 'A policy that knows the answers:'
	@$(BIN)/kgb rollout --policy oracle --tokens 100000 --profile best_effort
	@echo
	@echo 'A scripted policy that first fails (a syntax error, a wrong result) and then gets it right:'
	@$(BIN)/kgb rollout --policy stumbling --tokens 100000 --profile best_effort

test: lint
	$(BIN)/pytest -q

lint: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/lint-imports --no-cache

# The list of operator names, which `import kgb_env` registers without torch.
names: $(STAMP)
	$(BIN)/python -m kgb_env.operators.listing > .venv/names.txt
	mv .venv/names.txt kgb_env/operators/names.txt

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .ruff_cache

$(STAMP): setup.cfg pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or later is needed; name one with: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null \
		|| { echo "$(PYTHON) has no venv module; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@echo 'Creating .venv with the versions of constraints.txt; this takes a few minutes and 2 GB.'
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --no-deps '$(TORCH)' 2> /dev/null \
		|| $(BIN)/pip install --quiet --no-deps --index-url '$(INDEX)' '$(TORCH)'
	@$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $(STAMP)
