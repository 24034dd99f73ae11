# Not built by us yet: the machine that Pumphouse is developed on cannot run containers. scripts/image/docker-steps.mjs runs its steps there
# without one.
# Two stages: the compilers stay behind in the first.

FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
COPY packages/cli/package.json packages/cli/
COPY packages/client/package.json packages/client/
COPY packages/console/package.json packages/console/
COPY packages/engine/package.json packages/engine/
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
# What is built is told by `GET /version`: --build-arg COMMIT=$(git rev-parse HEAD)
ARG COMMIT=
# Optional: what only optional peers of our dependencies are.
RUN npm run build && echo "$COMMIT" > dist/commit && npm prune --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim
# Redis for pools.default.url = "embedded". A Dockerfile build starts no service, so none is left to stop.
RUN apt-get update \
 && apt-get install -y --no-install-recommends redis-server \
 && rm -rf /var/lib/apt/lists/* \
 && install -d -o node -g node /var/lib/pumphouse \
 && install -d /etc/pumphouse \
 && install -m 644 /dev/null /etc/pumphouse/pumphouse.toml
WORKDIR /app
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
# node_modules links to it; the engine's package is for programs without a server.
COPY --from=build /build/packages/client/package.json ./packages/client/
COPY --from=build /build/packages/client/dist ./packages/client/dist
COPY --from=build /build/lua ./lua
COPY --from=build /build/config ./config
# The command line: docker exec CONTAINER pumphouse token create NAMESPACE -d TEXT
RUN chmod 755 dist/cli/pumphouse.js && ln -s /app/dist/cli/pumphouse.js /usr/local/bin/pumphouse

# 512 MiB for the data of the embedded Redis: a container needs twice as much, as rewriting its file may take a copy.
ENV NODE_ENV=production \
    PUMPHOUSE_DATA__DIR=/var/lib/pumphouse \
    PUMPHOUSE_DATA__MAX_MEMORY_BYTES=536870912
USER node
VOLUME /var/lib/pumphouse
# The admin port (7778: tokens, metrics) stays on the container's loopback: it needs accounts before it may listen elsewhere.
EXPOSE 7777
# It reads the configuration, so it follows the port and TLS. The API port answers whether or not Redis does: the orchestrator
# must not kill a server that waits for Redis.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "/app/dist/app/health-check.js", "-c", "/etc/pumphouse/pumphouse.toml"]
# Node.js itself as the first process: npm would stand between it and SIGTERM. `docker run --init` reaps for it.
ENTRYPOINT ["node", "/app/dist/main.js"]
# Empty in the image; mount your own there.
CMD ["-c", "/etc/pumphouse/pumphouse.toml"]
