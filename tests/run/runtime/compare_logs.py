"""compare_logs.py TOLERANCE LOG LOG...: the losses (and other scalars) of all logs are those of the first, relatively."""

import json
import sys

NOT_COMPARED = {"ms", "samples_per_second", "sent_bytes"}


def read(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


tolerance, first = float(sys.argv[1]), read(sys.argv[2])
assert first, "an empty log"
for path in sys.argv[3:]:
    other = read(path)
    assert len(other) == len(first), f"{path}: {len(other)} lines, {len(first)} expected"
    for number, (a, b) in enumerate(zip(first, other), 1):
        assert a.keys() - NOT_COMPARED == b.keys() - NOT_COMPARED, f"{path}:{number}: other keys"
        for key in a.keys() - NOT_COMPARED:
            assert abs(a[key] - b[key]) <= tolerance * max(abs(a[key]), 1e-300), f"{path}:{number}: {key}: {a[key]} {b[key]}"
