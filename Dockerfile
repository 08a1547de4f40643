# Tidemark's gateway: `tidemark serve` on a volume, for clients of Azure Cosmos DB and, on request, of Azure Service Bus.
#
#   docker build -t tidemark .
#   docker run --read-only --cap-drop ALL --security-opt no-new-privileges \
#     -p 127.0.0.1:8081:8081 -v tidemark-data:/data tidemark
#
# It runs as the user node (1000), needs no capability, and writes to /data alone.
#
# The key is TIDEMARK_GATEWAY_KEY, or made once and kept in the volume: cat /data/gateway-key
# The emulator's well-known key is refused here: everybody knows it, and the container listens on all its addresses.
#
# It serves plain http, to the machine that it runs on or to a proxy in front of it. For https mount a certificate:
#
#   docker run --env HEALTH_URL=https://127.0.0.1:8081/readyz -p 8081:8081 -v tidemark-data:/data -v ./tls:/tls:ro tidemark \
#     serve /data --host 0.0.0.0 --tls-cert /tls/cert.pem --tls-key /tls/key.pem
#
# Queues and topics for clients of Azure Service Bus, on the machine that it runs on:
#
#   docker run -p 127.0.0.1:8081:8081 -p 127.0.0.1:5672:5672 -v tidemark-data:/data tidemark \
#     serve /data --host 0.0.0.0 --port 8081 --insecure-http --amqp-port 5672 --insecure-amqp

FROM node:24-bookworm-slim@sha256:2fe369e969550cde8e867afc3fe370b260140cab4a23d467074295b42163d553 AS build
WORKDIR /build
COPY . .
RUN npm ci --ignore-scripts --no-audit --no-fund
RUN npm run build

# What runs needs neither compiler nor tests: only what deploy/image/package.json lists, with its dependencies.
FROM node:24-bookworm-slim@sha256:2fe369e969550cde8e867afc3fe370b260140cab4a23d467074295b42163d553 AS packages
WORKDIR /app
COPY --from=build /build/package.json /build/package-lock.json /build/.npmrc ./
COPY --from=build /build/packages ./packages
COPY --from=build /build/examples ./examples
COPY --from=build /build/deploy/image ./deploy/image
RUN npm ci --omit=dev --workspace=@tidemark/image --include-workspace-root=false --ignore-scripts --no-audit --no-fund \
  && rm -rf examples packages/testing packages/*/src packages/tidemark/dashboard/src packages/*/dist/.tsbuildinfo

FROM node:24-bookworm-slim@sha256:2fe369e969550cde8e867afc3fe370b260140cab4a23d467074295b42163d553
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /app ./
RUN install -d -o node -g node /data
USER node
VOLUME /data
# The gateway, AMQP, administration.
EXPOSE 8081 5672 5300
# For https, whatever name the certificate has: https://127.0.0.1:8081/readyz
ENV HEALTH_URL=http://127.0.0.1:8081/readyz
HEALTHCHECK --interval=5s --timeout=3s --start-period=5s --retries=5 \
  CMD ["node", "--eval", "const url = process.env.HEALTH_URL; require(new URL(url).protocol.slice(0, -1)).get(url, { rejectUnauthorized: false }, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["node", "packages/tidemark/dist/cli/main.js"]
# Inside a container loopback would be nobody's. Who may connect is decided by the ports that are published: plain http
# (--insecure-http) is for those of 127.0.0.1, as above, and for a proxy on the container's own network.
CMD ["serve", "/data", "--host", "0.0.0.0", "--port", "8081", "--insecure-http"]
