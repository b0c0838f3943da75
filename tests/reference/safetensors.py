"""Reads a safetensors file: 8 bytes with the size of the header, a JSON header, the data."""

import json
import struct

import numpy as np

DTYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32}


def read(path):
    """The tensors by name, in the order in which their data stand in the file."""
    with open(path, "rb") as file:
        raw = file.read()
    (size,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8 : 8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"][0]):
        begin, end = entry["data_offsets"]
        data = np.frombuffer(raw[8 + size + begin : 8 + size + end], DTYPES[entry["dtype"]])
        tensors[name] = data.reshape(entry["shape"]).copy()
    return tensors
