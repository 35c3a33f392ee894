# Needs Go, and for the race detector a C compiler. Everything else is built into .cache from the modules in tools/.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

GO       ?= go
FUZZTIME ?= 30s
KEEP     ?=
export KEEP

# gRPC without golang.org/x/net/trace, of which nothing is served: the agent's binary is a sixth smaller.
TAGS = grpcnotrace

# Everything is compiled once, in the way of what is shipped, but for the race detector and NVIDIA's containers, which need C. It does not depend on
# where the checkout lies: a clean clone finds in Go's cache what another one compiled.
export GOFLAGS := $(GOFLAGS) -trimpath -tags=$(TAGS)
export CGO_ENABLED ?= 0

RANKWRIGHT_ASSETS ?= $(CURDIR)/.cache/bin
export RANKWRIGHT_ASSETS

CHART_TOOLS   := helm kubeconform
CONTROL_PLANE := etcd kube-apiserver kube-scheduler kube-controller-manager kubectl
COMMANDS      := node-agent node-helper operator kubectl-rankwright rankwright-nccl rankwright-nvml
VERSION       ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.PHONY: help
help: ## Print this list
	@awk 'BEGIN {FS = ":.*## "; print "Usage: make TARGET\n"} \
	  /^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2} \
	  END {print "\nVariables: KEEP=1 (demo), FUZZTIME=30s (fuzz), GO=go"}' $(MAKEFILE_LIST)

.PHONY: build
build: $(COMMANDS:%=bin/%) ## Build the commands into bin/

# Go decides itself what is out of date, so these are always asked for.
.PHONY: FORCE
bin/%: FORCE
	@tools/progress.sh "building $@" \
	  $(GO) build -ldflags "-s -w -X github.com/rankwright/rankwright/internal/version.version=$(VERSION)" -o $@ ./cmd/$*

# What needs a C compiler: rankwright-cdi, and NVIDIA's program for hooks, which is linked statically.
.PHONY: cdi
cdi: compiler bin/rankwright-cdi bin/nvidia-cdi-hook ## Build the programs for NVIDIA's containers into bin/ (C compiler)

bin/rankwright-cdi: FORCE
	@CGO_ENABLED=1 tools/progress.sh "building $@" $(GO) build \
	  -ldflags "-s -w -extldflags=-Wl,-z,lazy -X github.com/rankwright/rankwright/internal/version.version=$(VERSION)" -o $@ ./cmd/rankwright-cdi

HOOK := github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-cdi-hook
bin/nvidia-cdi-hook: FORCE
	@CGO_ENABLED=1 tools/progress.sh "building $@" $(GO) build -tags netgo,osusergo \
	  -ldflags "-s -w -linkmode external -extldflags '-static -Wl,-z,lazy'" -o $@ $(HOOK)

.PHONY: generate
generate: ## Generate deep copies, apply configurations and CRDs from api/, the chart's files from config/, its dashboards, and the plugin's page
	@tools/install.sh controller-gen
	tools/generate.sh

# golangci-lint vets with every analyzer of go vet, but for generated files.
GENERATED := ./api/...

# What linters ask the compiler for is compiled for the race detector, as tests need it next.
RACING := GOFLAGS="$(GOFLAGS) -race" CGO_ENABLED=1

.PHONY: lint
lint: compiler ## Check formatting, vet, linters, and that generated files are up to date
	@tools/install.sh controller-gen golangci-lint actionlint
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); \
	  [ -z "$$unformatted" ] || { echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; } >&2
	@$(RACING) tools/progress.sh "go vet of what golangci-lint leaves out" $(GO) vet $(GENERATED)
	@$(RACING) tools/progress.sh "golangci-lint" .cache/bin/golangci-lint run ./...
	@tools/progress.sh "golangci-lint of what is left out with the race detector" .cache/bin/golangci-lint run $$(git grep -l '^//go:build !race' -- '*.go' | xargs dirname | sort -u | sed 's|^|./|')
	@cd tools/dashboards && ../progress.sh "golangci-lint of the dashboards" ../../.cache/bin/golangci-lint run ./...
	@cd tools/page && ../progress.sh "golangci-lint of what bundles the page" ../../.cache/bin/golangci-lint run ./...
	@tools/progress.sh "generated files" tools/generate.sh --check
	@tools/progress.sh "workflows" .cache/bin/actionlint

# Nothing in these packages of the product runs at once (a test holds them to it): the race detector, under which they take ten times as long, has
# nothing to find there.
COMPUTING := ./pkg/cost ./pkg/estimate ./pkg/memory ./pkg/mesh ./pkg/model/... ./pkg/occupancy ./pkg/plan/... ./test/agreement ./tools/fit/...

# By itself: it is measured how fast the page is.
.PHONY: browser
browser: ## Run all of the plugin's page in headless Chromium, and hold it to its bars on a large fleet
	RANKWRIGHT_BROWSER=1 $(GO) test -count=1 -v ./test/browser

.PHONY: queries
queries: ## Ask every query of dashboards, rules and alerts by Prometheus' engine, of real operators and agents, and by a Prometheus, of the demo
	@tools/install.sh $(CONTROL_PLANE) prometheus
	$(GO) test -count=1 -v ./test/prometheus ./test/dashboards ./test/alerts
	RANKWRIGHT_PROMETHEUS=1 $(GO) test -count=1 -v -run '^TestInterruptLeavesNothing$$/^left_running$$' ./test/demo

# Tests do not vet what `make lint` does.
.PHONY: test
test: compiler ## Run all tests, with the race detector where anything runs at once, against a real API server where they need one
	@tools/install.sh $(CONTROL_PLANE) $(CHART_TOOLS)
	@$(MAKE) --no-print-directory -j2 test-racing test-computing

# The longest goes first, so that others run beside it.
.PHONY: test-racing
test-racing:
	@export CGO_ENABLED=1; \
	  GO="$(GO)" tools/race.sh ./test/integration/operator $$($(GO) list ./... | grep -vxFf <($(GO) list $(COMPUTING)))

# It fills what the others leave of the processors while they wait. It makes much garbage and keeps little.
.PHONY: test-computing
test-computing:
	@GOGC=400 nice -n 19 $(GO) test -vet=off -timeout 60m $(COMPUTING)

.PHONY: exhaustive
exhaustive: ## Run every case of what make test, slowed by the race detector, takes a sample of
	@tools/install.sh $(CONTROL_PLANE)
	@tools/progress.sh "every recording" $(GO) test -vet=off -timeout 90m ./test/recordings
	@tools/progress.sh "every order of two operators beside a pending commit" $(GO) test -vet=off -run PendingCommitOutlasts ./test/integration/operator
	@tools/progress.sh "what a placement costs does not grow with the cluster" $(GO) test -vet=off ./test/scale

.PHONY: test-unit
test-unit: ## Run the tests that need no API server, those that take long on a sample
	$(GO) test -short -vet=off $$($(GO) list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | \
	  awk '!/test\/controlplane/ {print $$1}')

.PHONY: compiler
compiler:
	@command -v "$$($(GO) env CC)" >/dev/null || \
	  { echo "the race detector needs a C compiler: install gcc (Debian: apt-get install gcc libc6-dev) or clang" >&2; exit 1; }

.PHONY: try
try: bin/kubectl-rankwright ## Show this host's accelerators, and a plan on a fleet that does not exist: needs Go alone
	@tools/try.sh bin/kubectl-rankwright

.PHONY: demo
demo: ## Run everything on this machine, from this host to ranks (KEEP=1 leaves it running)
	@tools/progress.sh "building the demo" $(GO) build -o bin/demo ./test/demo
	@exec bin/demo

WORKLOADS := lws jobset mpi-operator training-operator

.PHONY: workload-tools
workload-tools:
	@tools/install.sh $(CONTROL_PLANE) $(WORKLOADS)

.PHONY: workloads
workloads: workload-tools ## Test binding with the real controllers of LeaderWorkerSet, JobSet, MPIJob and PyTorchJob
	$(GO) test -count=1 -run '^Test(LeaderWorkerSet|JobSet|MPIJob|PyTorchJob)' ./test/integration/binding

CLUSTER := kubelet kube-proxy containerd containerd-shim-runc-v2 ctr coredns

bin/cluster: $(shell find test/cluster test/controlplane test/process -name '*.go')
	@tools/progress.sh "building $@" $(GO) build -o $@ ./test/cluster/command

.PHONY: cluster-tools
cluster-tools:
	@tools/install.sh $(CLUSTER)

.PHONY: cluster-up
cluster-up: bin/cluster ## Start a real cluster of three nodes on this machine (Linux, root) and leave it running
	@tools/install.sh $(CONTROL_PLANE) $(CLUSTER)
	@bin/cluster up

.PHONY: cluster-down
cluster-down: bin/cluster ## Stop it
	@bin/cluster down

.PHONY: e2e
e2e: ## Test on a real cluster of three nodes with kubelets, installed by Helm (Linux, root)
	@tools/install.sh $(CONTROL_PLANE) $(CLUSTER) helm
	RANKWRIGHT_CLUSTER=1 $(GO) test -count=1 -v -run '^TestRingOverALink$$' ./pkg/mesh/collective
	CGO_ENABLED=1 RANKWRIGHT_CLUSTER=1 $(GO) test -count=1 -v -run '^TestContainerStartsWithTheDriver$$' ./cmd/rankwright-cdi
	RANKWRIGHT_CLUSTER=1 $(GO) test -count=1 -p 1 -timeout 60m -v ./test/cluster ./test/e2e/...

.PHONY: tools
tools: ## Build the pinned tools that are missing into .cache
	@tools/install.sh $(CONTROL_PLANE) $(CHART_TOOLS) controller-gen golangci-lint

.PHONY: fuzz
fuzz: ## Run every fuzz test for FUZZTIME
	@for package in $$($(GO) list ./...); do \
	  for name in $$($(GO) test -list '^Fuzz' "$$package" | grep '^Fuzz' || true); do \
	    echo "==> $$package $$name"; \
	    $(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x "$$package" || exit 1; \
	  done; \
	done

.PHONY: bench
bench: ## Run the benchmarks, and print those of the planner against their bars and a baseline of the same run
	@tools/install.sh nfd-worker
	@$(GO) build -o bin/figures ./test/figure/command
	$(GO) test -run '^$$' -bench . -benchmem -timeout 60m ./pkg/... ./cmd/node-agent/... | tee bin/bench.txt
	@bin/figures -bench <bin/bench.txt

SCALE ?= -nodes 5000 -placements 1000 -pods 8000

.PHONY: scale
scale: ## Measure the operator on a large, busy cluster (SCALE="-nodes 200 -placements 100 -pods 200 -profiles DIR"; -help lists all)
	@tools/install.sh etcd kube-apiserver
	@$(GO) build -o bin/scale ./test/scale/command
	@KUBEBUILDER_ASSETS=$(CURDIR)/.cache/bin bin/scale $(SCALE)

.PHONY: scale-peers
scale-peers: ## Measure Kueue and kube-scheduler beside the operator (SCALE="-nodes 200 -placements 300")
	@tools/install.sh etcd kube-apiserver kube-scheduler kueue
	@$(GO) build -o bin/scale ./test/scale/command
	@KUBEBUILDER_ASSETS=$(CURDIR)/.cache/bin bin/scale -peers $(SCALE)

CHAOS ?= -faults 1000

.PHONY: chaos
chaos: ## Break things around the operator and hold it to its promises (CHAOS="-faults 1000 -seed 7 -only etcd,proxy"; -help lists all)
	@tools/install.sh etcd kube-apiserver
	@$(GO) build -o bin/chaos ./test/chaos/command
	@bin/chaos $(CHAOS)

.PHONY: chaos-short
chaos-short: CHAOS = -within 10m -seed 7
chaos-short: chaos ## Break what fits into ten minutes

.PHONY: fit
fit: ## Fit the constants of the cost model to the tables of tools/fit/truth/measured and print the errors without a model or product
	$(GO) run ./tools/fit
	$(GO) run ./tools/fit -leave-out

# What the tests hold to the tables of ../shared/truth, or of the folder truth of RANKWRIGHT_SHARED. Package by package, so that
# tests do not slow each other down and the table has an order.
TRUTH_TESTS := TestRecipes|TestPublished|TestCompressedCache|TestVLLMMeasuredMemory|TestHelixBlocks|TestWhat
TRUTH_TESTS := $(TRUTH_TESTS)|TestErrors|TestChoice|TestHalves|TestRanges|TestPairs|TestAnotherLaboratory|TestGPTOSSElsewhere|TestLeftOut|TestPlanner|TestTables|TestOptimumOfPublishedFleets|TestSplitEquals|TestFSDP|TestSitesOf|TestTheLaboratory

.PHONY: truth
truth: ## Print every figure that the tests hold to published measurements, with its bar
	@$(GO) build -o bin/figures ./test/figure/command
	@$(GO) test -count=1 -p 1 -v -run '^($(TRUTH_TESTS))' ./pkg/model ./pkg/memory ./tools/fit/calibration ./pkg/estimate ./pkg/plan ./pkg/plan/pipeline/... ./test/agreement 2>&1 | bin/figures

# The program that reads licences, with where they are.
licences = $(GO) run ./tools/licences/command -modcache "$$($(GO) env GOMODCACHE)" -goroot "$$($(GO) env GOROOT)"

.PHONY: images
images: ## Build the images with docker, podman or buildah (PLATFORMS=linux/amd64,linux/arm64)
	@tools/images.sh $(VERSION)

.PHONY: sbom
sbom: build ## Write a bill of materials of each command (SPDX 2.3) into dist/sbom/
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 0) \
	  $(licences) -version $(VERSION) -sbom dist/sbom $(COMMANDS:%=bin/%)

.PHONY: licenses
licenses: ## List the licences of everything that is built or tested with; one that is not allowed fails
	@CGO_ENABLED=1 $(GO) list -deps -test -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}' ./... $(HOOK) | $(licences) -modules

.PHONY: site
site: ## Build the site of the documents into dist/site, and follow its links
	@tools/install.sh hugo
	@tools/site.sh dist/site

.PHONY: release-dry-run
release-dry-run: ## Make a release of what is checked out in dist/, and install it on a cluster of three nodes (Linux, root)
	@tools/install.sh goreleaser helm $(CONTROL_PLANE) $(CLUSTER)
	@tools/progress.sh "the release" tools/release.sh snapshot
	RANKWRIGHT_DIST=$(CURDIR)/dist $(GO) test -count=1 ./test/release
	RANKWRIGHT_CLUSTER=1 RANKWRIGHT_DIST=$(CURDIR)/dist $(GO) test -count=1 -timeout 30m -v -run '^TestRelease' ./test/e2e

.PHONY: release
release: ## Make and publish the release of the tag that is checked out (RELEASE.md); the page is a draft
	@tools/install.sh goreleaser helm
	tools/release.sh release
	tools/release.sh publish

.PHONY: clean
clean: ## Remove what was built, except the tools in .cache
	rm -rf bin dist
