# Berth's front door. Everything real is in meson; these are the words of the README.
#
#   make          build the release program            build/berth
#   make demo     install what is missing, build, show the main job end to end, and leave Berth up with its dashboard
#   make quick    what to run before each commit: build, then the tests that find most in less than five minutes
#   make check    install what is missing, build, and run every test
#   make check-cluster KUBECONFIG=FILE   run what concerns clusters on a real one, in namespaces of its own
#   make run      a living system to look at: simulated GPUs, teams, queues, bookings, load, and the dashboard
#   make bench    measure; each benchmark prints a table and a ratio to a floor measured in the same run
#   make install  into PREFIX (/usr/local)

PREFIX ?= /usr/local
BUILD ?= build
SAN ?= build-san
JOBS ?= $(shell nproc)

all: build

setup-build:
	@scripts/setup build
setup-check:
	@scripts/setup check

$(BUILD)/build.ninja:
	@meson setup $(BUILD) --buildtype=release -Db_ndebug=false -Dprefix=$(abspath $(PREFIX)) >$(BUILD).log 2>&1 || \
	  { cat $(BUILD).log; echo "make: meson could not set up $(BUILD); 'scripts/setup build' installs what is missing"; exit 1; }
	@rm -f $(BUILD).log

$(SAN)/build.ninja:
	@meson setup $(SAN) --buildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false >$(SAN).log 2>&1 || \
	  { cat $(SAN).log; exit 1; }
	@rm -f $(SAN).log

build: $(BUILD)/build.ninja
	@ninja -j$(JOBS) -C $(BUILD) --quiet

sanitized: $(SAN)/build.ninja
	@ninja -j$(JOBS) -C $(SAN) --quiet

demo: setup-build
	@$(MAKE) --no-print-directory build
	@examples/first-job/demo --keep $(BUILD)/berth

check: setup-check
	@$(MAKE) --no-print-directory build sanitized
	@tests/run $(BUILD) $(SAN)

quick: build
	@tests/run --quick $(BUILD)

check-cluster: build
	@[ -n "$(KUBECONFIG)" ] || { echo "make: check-cluster needs KUBECONFIG=FILE of the cluster to try it on"; exit 2; }
	@BERTH_CLUSTER=$(abspath $(KUBECONFIG)) tests/cluster/run.sh $(BUILD) $(SAN)

run: setup-build
	@$(MAKE) --no-print-directory build
	@examples/sample/run $(BUILD)/berth .data/run

bench: build
	@bench/run $(BUILD)

install: build
	@meson configure $(BUILD) -Dprefix=$(abspath $(PREFIX))
	@ninja -j$(JOBS) -C $(BUILD) --quiet
	@meson install -C $(BUILD) --no-rebuild --quiet

clean:
	rm -rf $(BUILD) $(SAN)

.PHONY: all setup-build setup-check build sanitized demo quick check check-cluster run bench install clean
