"""compare_tensors.py TOLERANCE FILE FILE...: the tensors of all safetensors files are those of the first, to within the
tolerance of the largest number in the tensor."""

import os
import sys

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../reference"))
import safetensors

tolerance, first = float(sys.argv[1]), safetensors.read(sys.argv[2])
assert first, "no tensors"
for path in sys.argv[3:]:
    other = safetensors.read(path)
    assert first.keys() == other.keys(), f"{path}: other names"
    for name, tensor in first.items():
        assert tensor.shape == other[name].shape and tensor.dtype == other[name].dtype, f"{path}: {name}: other shape"
        off = np.abs(tensor - other[name]).max(initial=0)
        assert off <= tolerance * np.abs(tensor).max(initial=1e-300), f"{path}: {name}: off by {off}"
