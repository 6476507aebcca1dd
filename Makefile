# SPDX-License-Identifier: Apache-2.0
# The verbs of this house; a bare `make` lists them.

PYTHON := .venv/bin/python
RUN := .venv/bin

.PHONY: help
help: ## List the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Set up, build machine OS and release, and install a cluster on a virtual machine (half an hour the first time)
	@bin/setup --os
	@bin/demo

.PHONY: test
test: setup-dev lint web ## Set up and run every check and every test
	$(RUN)/pytest tests/unit tests/golden tests/component --ignore tests/component/lab -n auto --dist loadfile
	$(RUN)/pytest tests/browser
	$(RUN)/pytest tests/component/lab tests/lab --ignore tests/lab/long

.PHONY: check
check: setup-dev lint ## Format, lint, types, layers, spelling, unit and golden tests (under a minute)
	@$(MAKE) --no-print-directory -j2 --output-sync tests/unit tests/golden

.PHONY: tests/unit tests/golden
tests/unit tests/golden:
	$(RUN)/pytest $@

.PHONY: lint
lint: setup-dev
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/mypy
	$(RUN)/lint-imports
	$(RUN)/codespell
	@if cargo fmt --version >/dev/null 2>&1; then cargo fmt --check --manifest-path native/Cargo.toml; \
	else echo "rustfmt is not installed: the format of native/ was not checked"; fi

.PHONY: format
format: setup-dev ## Format the code and mend what the linter can
	$(RUN)/ruff check --fix .
	$(RUN)/ruff format .

.PHONY: golden
golden: setup-dev ## Write the golden files anew (look at the diff before you commit it)
	$(RUN)/pytest tests/golden --regen

.PHONY: docs
docs: setup-dev ## Write anew what is generated: docs/reference, machine-os/requirements.txt and the firewall of live hosts
	$(PYTHON) docs/generate.py
	bin/requirements

.PHONY: web
web: setup-dev ## Build the page for browsers, check its types, and run its tests
	@bin/web --check

.PHONY: web-types
web-types: setup-dev ## Write anew what the page for browsers knows of the interface
	@bin/web --types

.PHONY: fuzz
fuzz: setup-dev ## Try 100,000 broken inputs of every kind, and 15,000 API calls by every role; none may end in a failure
	$(PYTHON) tests/fuzz.py 100000
	$(RUN)/pytest tests/component/service/test_contract.py --api-examples 25

.PHONY: kills
kills: setup-dev ## Kill the service 200 times while it installs 50 modelled hosts; nothing answered may be lost
	$(RUN)/pytest tests/component/service/test_kills.py --kills 200

.PHONY: sim
sim: setup-dev ## Play 1,000 installations with random troubles in a model; each has to hold
	$(PYTHON) -m tests.sim --count 1000

.PHONY: lab
lab: setup-dev ## Rehearse clusters and troubles on virtual machines: the long ones (two and a half hours without KVM)
	$(RUN)/pytest tests/lab/long -o faulthandler_timeout=7200

.PHONY: bench
bench: setup-dev ## Measure against named baselines
	$(PYTHON) benchmarks/check_site.py
	$(PYTHON) benchmarks/make_image.py
	$(PYTHON) benchmarks/config_images.py
	$(PYTHON) benchmarks/content_store.py
	$(PYTHON) benchmarks/registry.py
	$(PYTHON) benchmarks/service.py --hosts 10,100,200,1000
	$(PYTHON) benchmarks/service_scenes.py
	$(PYTHON) benchmarks/service_session.py
	$(PYTHON) benchmarks/page.py

.PHONY: setup-dev
setup-dev:
	@bin/setup --dev
