# Images of the node agent and the operator; docs/operate/images.md describes them.
#
#   docker build --target node-agent --build-arg VERSION=v1.2.3 .
#
# Of the network, a build needs the Go modules alone. Programs are cross-compiled, but for the two that need cgo, in the stage
# cgo: for another architecture than the builder's, that stage is emulated, or built on a builder of that architecture.

ARG GO_IMAGE=golang:1.26-bookworm
ARG STATIC_IMAGE=scratch
ARG GLIBC_IMAGE=debian:bookworm-slim

# The programs that NVIDIA's package for CDI is in. rankwright-cdi loads the driver's library and is linked to glibc;
# nvidia-cdi-hook runs on the node, whatever that has, and is linked statically. It loads no library.
FROM ${GO_IMAGE} AS cgo
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api ./api
COPY cmd ./cmd
COPY internal ./internal
COPY pkg ./pkg
ARG VERSION=unknown
RUN CGO_ENABLED=1 go build -trimpath -buildvcs=false \
      -ldflags "-s -w -extldflags=-Wl,-z,lazy -X github.com/rankwright/rankwright/internal/version.version=$VERSION" \
      -o /out/bin/rankwright-cdi ./cmd/rankwright-cdi && \
    CGO_ENABLED=1 go build -tags netgo,osusergo -trimpath -buildvcs=false \
      -ldflags "-s -w -linkmode external -extldflags '-static -Wl,-z,lazy'" \
      -o /out/bin/nvidia-cdi-hook github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-cdi-hook

FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY LICENSE ./
COPY api ./api
COPY cmd ./cmd
COPY controllers ./controllers
COPY internal ./internal
COPY pkg ./pkg
COPY tools/licences ./tools/licences
ARG TARGETOS=linux
ARG TARGETARCH=amd64
ARG VERSION=unknown
ARG SOURCE_DATE_EPOCH=0
RUN for program in node-agent node-helper operator rankwright-nccl rankwright-nvml; do \
      CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -tags grpcnotrace -trimpath -buildvcs=false \
        -ldflags "-s -w -X github.com/rankwright/rankwright/internal/version.version=$VERSION" \
        -o /out/bin/$program ./cmd/$program || exit 1; \
    done
COPY --from=cgo /out/bin/rankwright-cdi /out/bin/nvidia-cdi-hook /out/bin/
# What goes with a copy of the programs: the texts of licences, and a bill of materials for each. A licence that is not
# allowed ends the build.
RUN go build -o /tmp/licences ./tools/licences/command && \
    licences() { /tmp/licences -modcache "$(go env GOMODCACHE)" -goroot "$(go env GOROOT)" -version "$VERSION" "$@"; } && \
    mkdir -p /out/licenses && cp LICENSE /out/licenses/LICENSE && \
    licences -texts /out/bin/* > /out/licenses/THIRD-PARTY && \
    licences -sbom /out/sbom /out/bin/*

FROM ${STATIC_IMAGE} AS operator
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Rankwright operator" \
      org.opencontainers.image.description="Places models on the accelerators of a cluster" \
      org.opencontainers.image.source="https://github.com/rankwright/rankwright" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /out/licenses /licenses
COPY --from=build /out/sbom/operator.spdx.json /sbom/
COPY --from=build /out/bin/operator /usr/local/bin/operator
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/operator"]

# The agent is uid 0 without capabilities: the kubelet's sockets and the folder of CDI specifications are root's.
FROM ${STATIC_IMAGE} AS node-agent
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Rankwright node agent" \
      org.opencontainers.image.description="Publishes the accelerators of a node, and serves them to its kubelet" \
      org.opencontainers.image.source="https://github.com/rankwright/rankwright" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /out/licenses /licenses
# rankwright-nccl does not run here, without glibc: a verification copies it into the image of an engine.
COPY --from=build /out/sbom/node-agent.spdx.json /out/sbom/rankwright-nccl.spdx.json /sbom/
COPY --from=build /out/bin/node-agent /out/bin/rankwright-nccl /usr/local/bin/
USER 0:0
ENTRYPOINT ["/usr/local/bin/node-agent"]

# With glibc, which NVIDIA's libraries, rankwright-nvml and rankwright-cdi are linked against.
FROM ${GLIBC_IMAGE} AS node-helper
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Rankwright node helper" \
      org.opencontainers.image.description="Runs the tools of drivers for the node agent" \
      org.opencontainers.image.source="https://github.com/rankwright/rankwright" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /out/licenses /licenses
COPY --from=build /out/sbom/node-helper.spdx.json /out/sbom/rankwright-nvml.spdx.json /sbom/
COPY --from=build /out/sbom/rankwright-cdi.spdx.json /out/sbom/nvidia-cdi-hook.spdx.json /sbom/
COPY --from=build /out/bin/node-helper /out/bin/rankwright-nvml /out/bin/rankwright-cdi /out/bin/nvidia-cdi-hook /usr/local/bin/
USER 0:0
ENTRYPOINT ["/usr/local/bin/node-helper"]
