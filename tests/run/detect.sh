#!/bin/sh
# The program of `parcc detect` prints a machine file of what it is started on, which parcc takes: of one rank and of two on one host
# (hosts.sh: of several hosts). It builds for GPUs.
. "$(dirname "$0")/common.sh"
cd "$tmp" || exit 1
check "parcc detect" "$PARCC" detect -o detect.cu
check "detect.cu for the host" "$PARCC_CC" --target=host -O1 detect.cu -o detect
for n in 1 2; do
  check "$n ranks" sh -c 'ranks=$1; shift; "$@" >"$ranks.machine" 2>said' sh "$n" python3 "$root/tests/run/launch.py" "$n" ./detect
  check "nothing is said besides: $(cat said)" [ ! -s said ]
  said=$("$PARCC" "$root/samples/mlp.dnn" --machine="./$n.machine" --search=data -o out.cu 2>&1)
  check "parcc takes what $n ranks print: $said" sh -c "echo '$said' | grep -q 'predicted step time .* on $n devices\\? of detected'"
done
check "of one rank there is no link" [ "$(grep -c level 1.machine)" = 0 ]
check "between two there is one" grep -q '^  level node = 2 core {' 2.machine
if command -v nvcc >/dev/null 2>&1; then check "detect.cu for GPUs" "$PARCC_CC" --target=cuda -arch sm_80 detect.cu -o detect.gpu; fi
finish
