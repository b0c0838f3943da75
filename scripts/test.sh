#!/bin/sh
# Installs what is missing, builds parcc in build/ and runs every test: scripts/test.sh [ctest arguments, e.g. -L golden]
# The last line is "N passed, N failed", with ", N skipped" where tests were.
set -eu
cd "$(dirname "$0")/.."

scripts/install-deps.sh --test
cmake -S . -B build -G Ninja -DPARCC_TESTS=ON ${PARCC_CMAKE_FLAGS-} >/dev/null
ninja -C build

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
junit=build/test-results.xml
rm -f "$junit"
status=0
ctest --test-dir build --output-on-failure --no-tests=error -j "$(nproc)" --output-junit test-results.xml "$@" || status=$?

# The counts stand in the opening tag of the results: tests, failures, disabled, skipped.
count() {
  tr '\n' ' ' <"$junit" | sed -n "s/.*<testsuite [^>]*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p"
}
[ -s "$junit" ] || {
  echo "0 passed, 1 failed"
  exit 1
}
total=$(count tests) failed=$(count failures) skipped=$(count skipped) disabled=$(count disabled)
skipped=$((skipped + disabled))
passed=$((total - failed - skipped))
[ "$skipped" -eq 0 ] && echo "$passed passed, $failed failed" || echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
