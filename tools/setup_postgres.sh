#!/bin/sh
# Installs the server of PostgreSQL from the system's packages, for the tests of databases.
# Does nothing where it is already there. The tests start a cluster of their own and stop it again
# (tests/db/conftest.py); a server that runs on this machine is not touched.
set -eu

for folder in /usr/lib/postgresql/*/bin; do
    if [ -x "$folder/initdb" ]; then
        exit 0
    fi
done
if command -v initdb >/dev/null 2>&1; then
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "PostgreSQL is missing and there is no apt-get; install its server." >&2
    exit 1
fi
as_root=""
if [ "$(id -u)" -ne 0 ]; then
    as_root="sudo"
fi
echo "Installing PostgreSQL (once) ..."
# The lists of packages may be missing or too old; only then are they fetched.
install="$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends"
$install postgresql >/dev/null 2>&1 || {
    $as_root apt-get update -qq
    $install postgresql >/dev/null
}
