#!/bin/sh
# Installs Chromium from the system's packages, for the tests of the report in a real browser.
# Does nothing where it is already there.
set -eu

for name in chromium chromium-browser; do
    if command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done
if ! command -v apt-get >/dev/null 2>&1; then
    echo "Chromium is missing and there is no apt-get; install it with your package manager." >&2
    exit 1
fi
as_root=""
if [ "$(id -u)" -ne 0 ]; then
    as_root="sudo"
fi
echo "Installing Chromium (once) ..."
# The lists of packages may be missing or too old; only then are they fetched.
install="$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends"
$install chromium fonts-dejavu-core >/dev/null 2>&1 || {
    $as_root apt-get update -qq
    $install chromium fonts-dejavu-core >/dev/null
}
