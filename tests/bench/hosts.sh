#!/bin/sh
# What a step takes on hosts with a slow network between them, beside what is predicted: hosts.sh [--rounds=N] [--table=FILE] [MODEL...], as root.
# The hosts are network namespaces of this machine (run/namespaces.sh), with a gigabit per second from each to the switch and back, of
# which the kernel must have sch_tbf. hosts.py has the models, the plans and what is measured; this makes two and three hosts for it.
. "$(dirname "$0")/../run/common.sh"
. "$root/tests/run/namespaces.sh"
why=$(hosts_missing)
[ -z "$why" ] || skip "$why"
hosts_up 3 || { echo "the hosts cannot be made" >&2; exit 1; }
cables_limit 1gbit || skip "no token bucket filter (sch_tbf) here"
export OPENBLAS_NUM_THREADS=1 PARCC PARCC_CC
"$PARCC" detect -o "$tmp/detect.cu" && "$PARCC_CC" --target=host "$tmp/detect.cu" -o "$tmp/detect" || exit 1

code=0
for hosts in 2 3; do
  use_hosts "$hosts"
  over_tcp "$hosts" "$tmp/detect" >"$tmp/testbed.machine" || exit 1
  python3 "$root/tests/bench/hosts.py" --hosts="$hosts" --folder="$tmp" "$@" || code=1
done
exit $code
