#!/bin/sh
# Installs what parcc needs on Debian 12: scripts/install-deps.sh [--test | --text]
# Only what is missing is installed, from Debian's own archive. --test adds what only the tests use, --text a book to train on.
set -eu

packages='flex bison cmake ninja-build gcc g++ libc6-dev make libopenblas-dev libopenmpi-dev openmpi-bin zlib1g-dev
  libcjson-dev dataset-fashion-mnist pkg-config'
test_packages='clang tcc toulbar2 coinor-cbc glpk-utils libclang-rt-14-dev python3-torch python3-numpy libopenblas0-openmp
  graphviz chromium-headless-shell iproute2'

text_packages='bible-kjv' # the King James Bible of 1611, public domain, and a program that prints it

case "${1-}" in
'') ;;
--text) packages="$packages $text_packages" ;;
--test) packages="$packages $test_packages" ;;
*)
  echo "usage: scripts/install-deps.sh [--test | --text]" >&2
  exit 2
  ;;
esac

missing=
for package in $packages; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [ "$status" = 'install ok installed' ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "install-deps: missing:$missing" >&2
    echo "install-deps: neither root nor sudo: ask an administrator to install them" >&2
    exit 1
  }
  as_root=sudo
fi
export DEBIAN_FRONTEND=noninteractive
echo "install-deps: installing$missing" >&2
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
