# make demo   verify templates/elementwise.py: on a GPU, or compiled and simulated without one
# make test   every check that this machine can run, of the corpus a seventh a day, of the graders of evals/ a fifth
# make references         every block, name and path of references/ and SKILL.md on the pinned nvidia-cutlass-dsl
# make references-latest  the same on its newest release, in a venv of its own; what fails has changed since the pinned one
# make corpus the verifier against its corpus of cheating, wrong and honest kernels
PYTHON ?= python3
VENV ?= .venv
LATEST ?= .venv-latest
ARCHIVE ?= dist/cute-dsl-kernels.zip
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# One with a GPU: what is timed needs it alone.
TEST_PROCESSES ?= $(shell if nvidia-smi >/dev/null 2>&1; then echo 0; else n=$$(nproc); echo $$((n < 8 ? n : 8)); fi)

.PHONY: demo test corpus references references-latest lint package clean

demo: $(INSTALLED)
	@if nvidia-smi >/dev/null 2>&1; then \
	  echo "GPU found: verifying the numbers of templates/elementwise.py on it"; \
	else \
	  echo "No GPU: compiling templates/elementwise.py for four architectures, then simulating its small cases"; \
	fi
	@$(BIN)/python scripts/verify_kernel.py templates/elementwise.py --level quick

test: $(INSTALLED)
	$(BIN)/python -m pytest --numprocesses=$(TEST_PROCESSES) --dist=worksteal

corpus: $(INSTALLED)
	$(BIN)/python tests/corpus.py

references: $(INSTALLED)
	$(BIN)/python -m pytest tests/references tests/test_skill.py

references-latest:
	$(MAKE) $(LATEST)/.installed VENV=$(LATEST)
	PIP_CONSTRAINT= $(LATEST)/bin/python -m pip install --quiet --upgrade "$$(tail -n 1 $(LATEST)/requirements.txt)"
	$(LATEST)/bin/python -m pip list | grep -i cutlass
	$(LATEST)/bin/python -m pytest tests/references tests/test_skill.py

lint: $(INSTALLED)
	$(BIN)/ruff check .

package:
	$(PYTHON) scripts/kernel_harness/package.py $(ARCHIVE)

# The dependency lists live in pyproject.toml; the CUDA flavour of nvidia-cutlass-dsl follows the driver.
$(INSTALLED): pyproject.toml scripts/kernel_harness/flavour.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python scripts/kernel_harness/flavour.py > $(VENV)/requirements.txt
	$(BIN)/python -m pip install --quiet -r $(VENV)/requirements.txt
	$(BIN)/python scripts/kernel_harness/flavour.py --check
	@touch $@

clean:
	rm -rf $(VENV) $(LATEST) dist .pytest_cache .ruff_cache
