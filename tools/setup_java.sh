#!/bin/sh
# Installs a Java runtime from the system's packages, for the tests of Spark, which needs Java 17 or
# newer. Does nothing where there is one.
set -eu

found="java"
if [ -n "${JAVA_HOME:-}" ]; then
    found="$JAVA_HOME/bin/java"
fi
version=$("$found" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' || true)
if [ -n "$version" ] && [ "$version" -ge 17 ]; then
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "Java is missing and there is no apt-get; install a runtime of Java 17 or newer." >&2
    exit 1
fi
as_root=""
if [ "$(id -u)" -ne 0 ]; then
    as_root="sudo"
fi
echo "Installing a Java runtime (once) ..."
# The lists of packages may be missing or too old; only then are they fetched.
install="$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends"
$install openjdk-17-jre-headless >/dev/null 2>&1 || {
    $as_root apt-get update -qq
    $install openjdk-17-jre-headless >/dev/null
}
