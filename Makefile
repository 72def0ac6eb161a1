# make demo   verify templates/elementwise.py: on a GPU, or compiled and simulated without one
# make test   every check that this machine can run
# make corpus the verifier against its corpus of cheating, wrong and honest kernels
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test corpus lint package clean

demo: $(INSTALLED)
	@if nvidia-smi >/dev/null 2>&1; then \
	  echo "GPU found: verifying the numbers of templates/elementwise.py on it"; \
	else \
	  echo "No GPU: compiling templates/elementwise.py for four architectures, then simulating its small cases"; \
	fi
	@$(BIN)/python scripts/verify_kernel.py templates/elementwise.py --level quick

test: $(INSTALLED)
	$(BIN)/python -m pytest

corpus: $(INSTALLED)
	$(BIN)/python tests/corpus.py

lint: $(INSTALLED)
	$(BIN)/ruff check .

package: $(INSTALLED)
	$(BIN)/python scripts/kernel_harness/package.py dist/cute-dsl-kernels.zip

# The dependency lists live in pyproject.toml; the CUDA flavour of nvidia-cutlass-dsl follows the driver.
$(INSTALLED): pyproject.toml scripts/kernel_harness/flavour.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python scripts/kernel_harness/flavour.py > $(VENV)/requirements.txt
	$(BIN)/python -m pip install --quiet -r $(VENV)/requirements.txt
	$(BIN)/python scripts/kernel_harness/flavour.py --check
	@touch $@

clean:
	rm -rf $(VENV) dist .pytest_cache .ruff_cache
