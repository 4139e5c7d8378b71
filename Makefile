# Every target here is one line: the work is in tools/. `make` alone lists the targets.
PYTHON_BIN := .venv/bin/python
SETUP := bash tools/setup.sh

.PHONY: help demo test check test-judges test-full reliability bench audit docs lint binding shaders wheel release-check clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## install what is missing of the library, then crop, flip, re-lay-out and resize a photograph (PHOTO=file.jpg for your own)
	@$(SETUP) demo
	@$(PYTHON_BIN) -m restride demo $(if $(PHOTO),"$(PHOTO)")

test: ## install what is missing, then lint, mypy, the tests, a part of the conformance cases on two drivers, planted faults (PYTEST='tests/plan -x' for some tests alone)
	@$(SETUP) test
	@bash tools/tests.sh $(PYTEST)

check: ## what CI runs after `make test`: slow tests, those of lab/ and of judges, all cases of ci, audit, docs, wheels, other drivers (an hour)
	@$(SETUP) test
	@$(SETUP) lab
	@bash tools/check.sh

test-judges: ## install torch, jax, onnxruntime, openvino, dask and others, then run mypy and the tests that were skipped for want of them
	@bash tools/judges.sh

test-full: ## every test in full and under every validation profile, and all cases on every runtime and driver (hours)
	@$(SETUP) test
	@$(SETUP) lab
	$(PYTHON_BIN) tools/build_kp.py
	RESTRIDE_TEST_FULL=1 RESTRIDE_REQUIRE_RUNTIMES=vulkan,kompute $(PYTHON_BIN) -m pytest
	@bash tools/conformance.sh full

reliability: ## faults injected at every Vulkan call, leaks, threads, soak, hostile files: all of docs/reliability.md (up to 3 hours)
	@$(SETUP) test
	$(PYTHON_BIN) lab/reliability/run.py $(RELIABILITY)

bench: ## measure speed beside every other library that is installed (BENCH='-k transpose' for its options)
	@$(SETUP) lab
	$(PYTHON_BIN) -m restride bench $(BENCH)

audit: ## compile the kernels for GPUs that are not here, and store docs/benchmarks/vendors.json (MESA='--intel --arm64' for all makers)
	@$(SETUP) lab
	@bash tools/mesa26.sh $(MESA)
	$(PYTHON_BIN) -m restride audit --contract --json docs/benchmarks/vendors.json >.cache/audit.txt || { grep '^problem: ' .cache/audit.txt; exit 1; }

docs: ## build the site with its gallery and notebooks into build/docs, and check its links
	@$(SETUP) demo
	@$(PYTHON_BIN) -m pip --disable-pip-version-check install --quiet --group docs
	$(PYTHON_BIN) tools/build_docs.py

lint: ## run ruff and mypy --strict, without installing the test tools
	@$(SETUP) lint
	$(PYTHON_BIN) -m ruff check
	$(PYTHON_BIN) -m ruff format --check
	$(PYTHON_BIN) -m mypy

binding: ## make the declarations of Vulkan again, src/restride/runtime/vulkan/generated.py
	@$(SETUP) test
	$(PYTHON_BIN) tools/make_binding.py

shaders: ## compile shaders/ to SPIR-V in src/restride/spirv
	@$(SETUP) demo

wheel: ## build the wheels and the source distributions of restride and restride-lab into dist/
	@$(SETUP) test
	$(PYTHON_BIN) -m build
	$(PYTHON_BIN) -m build --outdir dist lab

release-check: ## build the wheels and sdists of restride and restride-lab twice, compare, check, try them in clean environments, and leave them in dist/ (RELEASE='--tag v1.2.3')
	@$(SETUP) demo
	@$(PYTHON_BIN) tools/release_check.py $(RELEASE)

clean: ## remove what was built: .venv, dist, SPIR-V and caches (.cache keeps the kp wheel)
	rm -rf .venv dist build demo_out src/restride/spirv lab/src/restride_bench/spirv .mypy_cache .ruff_cache .pytest_cache .hypothesis
