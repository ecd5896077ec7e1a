# SPDX-License-Identifier: GPL-2.0
#
# tally: "make help" lists the targets.

RIG := selftests/rig

# The running kernel, or the newest with headers if it has none: an installed one,
# or one that the rig has fetched.
ifdef KDIR
KVER ?= $(shell $(MAKE) -s --no-print-directory -C $(KDIR) kernelrelease)
else
KVERS := $(patsubst /lib/modules/%/build,%,$(wildcard /lib/modules/*/build))
KVER ?= $(or $(filter $(shell uname -r),$(KVERS)), \
	$(shell printf '%s\n' $(or $(KVERS),$(shell $(RIG)/kernel list)) | \
		sort -V | tail -1))
KDIR = $(or $(wildcard /lib/modules/$(KVER)/build), \
	$(if $(KVER),$(shell $(RIG)/kernel root $(KVER))/lib/modules/$(KVER)/build))
endif

KVER := $(strip $(KVER))
# What other modules build against.
SRCDIR ?= /usr/src/tally

all: module tools

help:
	@echo 'make              build the module and the tools (V=1 shows how)'
	@echo 'make module       build the module for kernel $(KVER)'
	@echo '                  (KVER=... or KDIR=... for another) in build/'
	@echo 'make tools        build the command line tool'
	@echo 'make install      install both, and the headers (DESTDIR=..., INSTALL_MOD_PATH=...)'
	@echo 'make demo         see three machines share a counter, a lock, a region'
	@echo 'make play         have a shell on one of three machines'
	@echo 'make bench        what calls cost, in multiples of verbs alone'
	@echo 'make bench-peers  tally beside perftest, Redis, TCP and the DLM'
	@echo 'make check        what has to pass (30 minutes), which is these:'
	@echo 'make style          style checks'
	@echo 'make builds         builds for the kernels that are tested'
	@echo 'make unit           unit tests of the pure code, in user space'
	@echo 'make uml            tests in a user-mode kernel with sanitizers'
	@echo 'make machines       tests in machines, with two kernels'
	@echo 'make soak         the same at full length, tests of the rig, and smp (3 hours)'
	@echo 'make smp          tests in the newest kernel, two processors, sanitizers'
	@echo 'make model        explore the models of the protocols (make model-full: all)'
	@echo 'make sim          simulate hundreds of nodes, delays, broken links'
	@echo 'make rig          tests of the machinery that runs the tests'
	@echo 'make clean        remove what was built'

module:
	@[ -n "$(KVER)" ] || { echo 'no kernel headers: install linux-headers-amd64,' \
		'or fetch some with "$(RIG)/kernel get amd64"' >&2; exit 1; }
	@[ "$(KVER)" = "$$(uname -r)" ] || \
		echo "building for $(KVER) (this kernel is $$(uname -r); KVER=... chooses)"
	@$(RIG)/module -d $(KDIR) $(KVER)

tools:
	$(MAKE) -C tools

install: all
	$(MAKE) -C $(KDIR) M=$(CURDIR)/build/$(KVER) modules_install
	$(MAKE) -C $(KDIR) M=$(CURDIR)/build/$(KVER)/kmod/bench modules_install
	$(MAKE) -C tools install
	install -D -m 644 kmod/include/linux/tally.h \
		$(DESTDIR)$(SRCDIR)/include/linux/tally.h
	install -D -m 644 build/$(KVER)/Module.symvers \
		$(DESTDIR)$(SRCDIR)/$(KVER)/Module.symvers

demo play:
	@$(RIG)/deps demo
	@selftests/demo/$@

bench:
	$(RIG)/deps bench
	selftests/bench/bench

bench-peers:
	$(RIG)/deps peers
	selftests/bench/peers

check:
	$(RIG)/deps check
	selftests/check

# With SOAK set, tests do all they can.
soak:
	$(RIG)/deps soak
	SOAK=1 selftests/check style builds unit rig uml smp machines

style builds unit uml smp machines rig:
	selftests/check $@

model:
	$(RIG)/deps model
	selftests/model/check

sim:
	@mkdir -p build
	$(MAKE) -C selftests/sim run JSON=$(CURDIR)/build/sim.json

model-full:
	$(RIG)/deps model
	selftests/model/check -f -j 1 -m 8500

clean:
	$(MAKE) -C tools clean
	$(MAKE) -C selftests clean
	$(MAKE) -C selftests/unit clean
	$(MAKE) -C selftests/sim clean
	rm -rf build

.PHONY: all help module tools install demo play bench bench-peers check soak style
.PHONY: builds unit uml smp machines rig model model-full sim clean
