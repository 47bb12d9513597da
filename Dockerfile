FROM swift:6.3-bookworm AS build
# Debian's stable release changes packages only for security, and keeps no superseded version to pin.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends libmicrohttpd-dev libsodium-dev libsqlite3-dev libpq-dev libjemalloc-dev \
        pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
# Package.swift names the test targets, so it does not load without Tests. Package.resolved is used if there is one.
COPY Package.swift Package.resolve[d] openapi.yaml ./
COPY docs docs
COPY Sources Sources
COPY Tests Tests
RUN swift build -c release --static-swift-stdlib --product coordinatord \
    && strip -o /coordinatord .build/release/coordinatord

FROM debian:bookworm-slim
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends libmicrohttpd12 libsodium23 libsqlite3-0 libpq5 libjemalloc2 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /coordinatord /usr/local/bin/
# The server's persistent data: mount a volume there. The file has settings, which the container's environment and
# arguments override.
RUN install --directory --owner=10001 --group=10001 --mode=700 /data \
    && echo '{"host": "0.0.0.0", "store": "sqlite:/data", "data-directory": "/data"}' > /etc/coordinatord.json
VOLUME /data
# A number, so that an orchestrator can see that it is not root.
USER 10001:10001
EXPOSE 8080
STOPSIGNAL SIGTERM
# The server writes its address into the last file and the health check reads it, whatever the settings are.
ENV COORDINATORD_CONFIG=/etc/coordinatord.json \
    COORDINATORD_ADDRESS_FILE=/tmp/coordinatord-address
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["coordinatord", "health"]
LABEL org.opencontainers.image.title=coordinatord \
    org.opencontainers.image.version=0.1.0 \
    org.opencontainers.image.licenses=MIT
ENTRYPOINT ["coordinatord"]
CMD ["serve"]
