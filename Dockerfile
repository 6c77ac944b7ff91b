# syntax=docker/dockerfile:1
# rundry in a container. docs/how-to/container.md says how to start it, and which options the sandbox needs.
#   docker build -t rundry .
ARG BASE=docker.io/library/debian:trixie-slim

FROM ${BASE} AS base
# Of the distribution: what rundry and the commands of a run use. Their versions are those of the base image's release.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git python3 ripgrep \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 --shell /bin/bash rundry

FROM base AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY requirements.lock ./
# What builds the wheel has hashes, too: it is in the lock of the development group.
RUN python3 -m venv /build && /build/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY .dev/run.lock .dev/run.lock
RUN python3 -m venv /opt/rundry && /opt/rundry/bin/pip install --no-cache-dir --require-hashes -r .dev/run.lock
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY docs/reference/rundry.1 docs/reference/rundry.1
COPY agent agent
COPY package package
COPY tui tui
COPY themes themes
RUN /build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels . \
    && /opt/rundry/bin/pip install --no-cache-dir --no-deps /wheels/*.whl \
    && /opt/rundry/bin/python -m compileall -q /opt/rundry/lib

# For work on rundry itself: .devcontainer/devcontainer.json builds this stage.
FROM base AS dev
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends make procps python3-venv strace tmux \
    && rm -rf /var/lib/apt/lists/* \
    && install -d -o rundry -g rundry /home/rundry/.local /home/rundry/.local/state
USER 1000:1000

FROM base
LABEL org.opencontainers.image.title="rundry" \
      org.opencontainers.image.description="A terminal session in which a model drives a loop and a person holds the brakes." \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/rundry /opt/rundry
# The journals stay when the container is deleted.
RUN ln -s /opt/rundry/bin/rundry /usr/local/bin/rundry \
    && install -d -o rundry -g rundry /work /runs
ENV LANG=C.UTF-8 \
    RUNDRY_RUNS_DIR=/runs
VOLUME /runs
USER 1000:1000
WORKDIR /work
ENTRYPOINT ["rundry"]
