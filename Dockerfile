# Shoal in a container, compiled while the image is built: it runs offline, on a file system that can
# only be read, as a user without rights. docs/first-run.md says how to run it.
#
#   docker build -t shoal .
#
# CPU is the processor that the code is compiled for: x86-64-v3 is Intel since 2013 and AMD since
# 2015; "generic" fits every machine of the kind that builds the image, arm64 included.

FROM python:3.11-slim AS build
ARG CPU=x86-64-v3
ENV NUMBA_CPU_NAME=${CPU} NUMBA_CPU_FEATURES=""
WORKDIR /build
COPY requirements/user.txt requirements/user.txt
RUN python -m venv /opt/shoal
RUN /opt/shoal/bin/pip install --no-cache-dir --only-binary :all: --requirement requirements/user.txt
COPY pyproject.toml MANIFEST.in CHANGELOG.md CITATION.cff SECURITY.md README.md LICENSE ./
COPY src src
RUN /opt/shoal/bin/pip install --no-cache-dir --no-deps --no-build-isolation .
RUN /opt/shoal/bin/shoal warm-up

FROM python:3.11-slim
ARG CPU=x86-64-v3
ENV NUMBA_CPU_NAME=${CPU} NUMBA_CPU_FEATURES="" PYTHONDONTWRITEBYTECODE=1
COPY --from=build /opt/shoal /opt/shoal
USER 65534:65534
WORKDIR /data
ENTRYPOINT ["/opt/shoal/bin/shoal"]
CMD ["--help"]
