# The server as an image: built from this tree, with exactly what the lock file names.
#
#   docker build -t sluice .
#   docker run --read-only -p 8080:8080 -e SLUICE_ALLOW_PLAIN_HTTP=true -v sluice:/var/lib/sluice sluice
#
# The last stage is what is shipped: Node, the packages, no shell, no npm. Files are written to the volume only.
# Plain HTTP beyond loopback is not switched on here: who runs the image says that something before it speaks TLS
# (SLUICE_ALLOW_PLAIN_HTTP), or gives it a certificate (SLUICE_TLS_CERT_FILE, SLUICE_TLS_KEY_FILE).

FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY bench/package.json bench/
COPY packages/sluice/package.json packages/sluice/
COPY packages/sim/package.json packages/sim/
COPY packages/server/package.json packages/server/
COPY packages/server/bin packages/server/bin
RUN npm ci --ignore-scripts
COPY LICENSE tsconfig.json tsconfig.base.json ./
COPY scripts scripts
COPY packages packages
RUN npm run build
# Once more, without what only the build needs.
RUN npm ci --ignore-scripts --omit=dev --workspace sluice --workspace @sluice/server
RUN mkdir /data

FROM gcr.io/distroless/nodejs24-debian12:nonroot
WORKDIR /app
COPY --from=build /src/LICENSE ./
COPY --from=build /src/node_modules node_modules
COPY --from=build /src/packages/sluice/package.json packages/sluice/
COPY --from=build /src/packages/sluice/dist packages/sluice/dist
COPY --from=build /src/packages/server/package.json packages/server/
COPY --from=build /src/packages/server/node_modules packages/server/node_modules
COPY --from=build /src/packages/server/bin packages/server/bin
COPY --from=build /src/packages/server/dist packages/server/dist
COPY --from=build --chown=65532:65532 /data /var/lib/sluice

ENV NODE_ENV=production \
    SLUICE_HOST=0.0.0.0 \
    SLUICE_PORT=8080 \
    SLUICE_OPS_HOST=0.0.0.0 \
    SLUICE_OPS_PORT=9080 \
    SLUICE_DATA=/var/lib/sluice
USER 65532:65532
VOLUME ["/var/lib/sluice"]
EXPOSE 8080 9080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["/nodejs/bin/node", "-e", "fetch(`http://127.0.0.1:${process.env.SLUICE_OPS_PORT}/health`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/nodejs/bin/node", "/app/packages/server/bin/sluice.mjs"]
CMD ["serve"]
