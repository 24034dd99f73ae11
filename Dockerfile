# Not built by us yet: the machine that Pumphouse is developed on cannot run containers.
# Two stages: the compilers stay behind in the first.

FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
COPY packages/client/package.json packages/client/
COPY packages/engine/package.json packages/engine/
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
# What is built is told by `GET /version`: --build-arg COMMIT=$(git rev-parse HEAD)
ARG COMMIT=
RUN npm run build && echo "$COMMIT" > dist/commit && npm prune --omit=dev --no-audit --no-fund

FROM node:24-bookworm-slim
# Redis for pools.default.url = "embedded". A Dockerfile build starts no service, so none is left to stop.
RUN apt-get update \
 && apt-get install -y --no-install-recommends redis-server \
 && rm -rf /var/lib/apt/lists/* \
 && install -d -o node -g node /var/lib/pumphouse
WORKDIR /app
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
# node_modules links to it; the engine's package is for programs without a server.
COPY --from=build /build/packages/client/package.json ./packages/client/
COPY --from=build /build/packages/client/dist ./packages/client/dist
COPY --from=build /build/lua ./lua
COPY --from=build /build/config ./config

ENV NODE_ENV=production \
    PUMPHOUSE_DATA__DIR=/var/lib/pumphouse
USER node
VOLUME /var/lib/pumphouse
# The admin port, 7778, stays on the container's loopback: it needs accounts before it may listen elsewhere.
EXPOSE 7777
# The API port answers here whether or not Redis does: the orchestrator must not kill a server that waits for Redis.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:7777/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Node.js itself as the first process: npm would stand between it and SIGTERM. `docker run --init` reaps for it.
ENTRYPOINT ["node", "dist/main.js"]
