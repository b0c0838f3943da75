#!/bin/sh
# The worked example of README.md, as it stands there: the model trains on 4 ranks and learns.
. "$(dirname "$0")/common.sh"
[ -d /usr/share/datasets/fashion-mnist ] || skip "no Fashion-MNIST"

# block LANGUAGE NAME: the fenced block of README.md with that heading
block() { awk -v fence="\`\`\`$1 $2" '$0 == fence { inside = 1; next } /^```/ { inside = 0 } inside' "$root/README.md"; }

cd "$tmp" || exit 1
mkdir -p build
ln -s "$(dirname "$PARCC")" build/bin
block text squareplus.dnn >squareplus.dnn
block sh squareplus >commands.sh
check "README.md has the model" [ -s squareplus.dnn ]
check "README.md has the commands" [ -s commands.sh ]
sh -e commands.sh >out 2>&1 || fail "the commands fail"
cat out
accuracy=$(sed -n 's/.*test split.*accuracy \([0-9.]*\).*/\1/p' out)
check "test accuracy '$accuracy' is below 0.8" sh -c "awk -v a='$accuracy' 'BEGIN { exit !(a + 0 >= 0.8) }'"
finish
