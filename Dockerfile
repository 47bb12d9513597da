# Which stage the program comes from: `build`, from the sources; or `built`, from the folder `dist/program`, where
# scripts/package has left it.
ARG PROGRAM=build

# The images that these are made of. A release names them with their digests, as `scripts/release pins` prints them:
# docs/releasing.md.
ARG DEBIAN_IMAGE=debian:trixie-slim
ARG SWIFT_IMAGE=swift:6.3-bookworm

# What every server needs to run: libraries from Debian, and nothing else. No shell, no package manager.
# hadolint ignore=DL3006
FROM ${DEBIAN_IMAGE} AS files
# Debian's stable release changes packages only for security, and keeps no superseded version to pin.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        ca-certificates libjemalloc2 libmicrohttpd12t64 libpq5 libsodium23 libsqlite3-0 libstdc++6 zlib1g \
    && rm -rf /var/lib/apt/lists/*
COPY scripts/image-root /
RUN /image-root /image ca-certificates libjemalloc2 libmicrohttpd12t64 libpq5 libsodium23 libsqlite3-0 libstdc++6 zlib1g
# The server's persistent data is in /data: mount a volume there. Everybody may write there, so that the container may
# run as any user. The file has settings, which the container's environment and arguments override.
RUN install --directory --mode=1777 /image/data /image/tmp \
    && printf 'root:x:0:0:root:/:/sbin/nologin\ncoordinatord:x:10001:10001::/data:/sbin/nologin\n' > /image/etc/passwd \
    && printf 'root:x:0:\ncoordinatord:x:10001:\n' > /image/etc/group \
    && echo '{"host": "0.0.0.0", "store": "sqlite:/data", "data-directory": "/data"}' > /image/etc/coordinatord.json

# An image for a server with apps of its own: add the program as /usr/local/bin/server, as Examples/cinema/Dockerfile does.
FROM scratch AS runtime
COPY --from=files /image /
VOLUME /data
# A number, so that an orchestrator can see that it is not root.
USER 10001:10001
EXPOSE 8080
STOPSIGNAL SIGTERM
# The server writes its address into the second file and the health check reads it, whatever the settings are.
ENV PATH=/usr/local/bin \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    COORDINATORD_CONFIG=/etc/coordinatord.json \
    COORDINATORD_ADDRESS_FILE=/data/address
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["server", "health"]
ENTRYPOINT ["server"]
CMD ["serve"]

# Swift's own image for Debian. Libraries keep their interfaces from one Debian release to the next, so the program runs
# with those of the stage above.
# hadolint ignore=DL3006
FROM ${SWIFT_IMAGE} AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends libmicrohttpd-dev libsodium-dev libsqlite3-dev libpq-dev libjemalloc-dev \
        zlib1g-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
# Package.swift names the test targets, so it does not load without Tests. Package.resolved is used if there is one.
COPY Package.swift Package.resolve[d] openapi.yaml ./
COPY docs docs
COPY Clients Clients
COPY Sources Sources
COPY Tests Tests
RUN swift build -c release --static-swift-stdlib -Xswiftc -gline-tables-only --product coordinatord \
    && mkdir /program \
    && strip -o /program/coordinatord .build/release/coordinatord \
    && cp .build/workspace-state.json /program \
    && swift --version > /program/swift-version 2>&1

FROM scratch AS built
COPY dist/program /program

# hadolint ignore=DL3006
FROM ${PROGRAM} AS program

# The program with its bill of materials.
FROM files AS described
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends python3 && rm -rf /var/lib/apt/lists/*
COPY scripts/sbom /
COPY --from=program /program /program
RUN install -D -t /described/usr/local/bin /program/coordinatord \
    && ln -s coordinatord /described/usr/local/bin/server \
    && mkdir -p /described/usr/share/sbom \
    && /sbom /program/coordinatord /image/var/lib/dpkg/status.d /program/workspace-state.json \
        "$(cat /program/swift-version)" > /described/usr/share/sbom/coordinatord.cdx.json

FROM runtime
COPY --from=described /described /
LABEL org.opencontainers.image.title=coordinatord \
    org.opencontainers.image.description="Navigation state of client sessions over HTTP" \
    org.opencontainers.image.version=0.1.0 \
    org.opencontainers.image.licenses=MIT
