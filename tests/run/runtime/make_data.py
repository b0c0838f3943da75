"""Writes the data sets that run.sh reads, right and damaged ones, into the directory given. Standard library only."""

import gzip
import os
import struct
import sys

SAMPLES, TEST_SAMPLES, ELEMENTS = 10, 6, 12
IDX_TYPES = {"B": 0x08, "b": 0x09, "h": 0x0B, "i": 0x0C, "f": 0x0D, "d": 0x0E}
NPY_TYPES = {"B": "|u1", "b": "|i1", "H": "<u2", "h": "<i2", "I": "<u4", "i": "<i4", "q": "<i8", "f": "<f4", "d": "<f8"}


def idx(code, shape, values):
    head = bytes([0, 0, IDX_TYPES[code], len(shape)]) + struct.pack(">%dI" % len(shape), *shape)
    return head + struct.pack(">%d%s" % (len(values), code), *values)


def npy(code, shape, values, version=1, descr=None, fortran=False):
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }" % (
        descr or NPY_TYPES[code], fortran, "".join("%d, " % s for s in shape))
    start = 10 if version == 1 else 12
    text += " " * (-(len(text) + start + 1) % 64) + "\n"
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text.encode() + struct.pack("<%d%s" % (len(values), code), *values)


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with (gzip.open(path, "wb") if path.endswith(".gz") else open(path, "wb")) as file:
        file.write(data)


def x_values(n, first=0):
    return [(first + i * 7) % 100 for i in range(n * ELEMENTS)]


def ids(n):
    return [i * 3 for i in range(n)]


def loss(samples, x, id_):
    """What reader.cu computes, summed over some samples."""
    total = 0
    for s in samples:
        total += sum((0.5 * x[s * ELEMENTS + e] + 1) * (1 + e) for e in range(ELEMENTS)) + 1000 * id_[s]
    return total


def main(root):
    x, xt, i, it = x_values(SAMPLES), x_values(TEST_SAMPLES, 5), ids(SAMPLES), ids(TEST_SAMPLES)

    def data_set(name, make, ext, x_code="B", id_code="B", x_file=None, id_file=None, shape=(3, 4)):
        write(f"{root}/{name}/x{ext}", make(x_code, (SAMPLES,) + shape, x) if x_file is None else x_file)
        write(f"{root}/{name}/x_test{ext}", make(x_code, (TEST_SAMPLES,) + shape, xt))
        write(f"{root}/{name}/id{ext}", make(id_code, (SAMPLES,), i) if id_file is None else id_file)
        write(f"{root}/{name}/id_test{ext}", make(id_code, (TEST_SAMPLES,), it))

    for code in NPY_TYPES:
        data_set(f"npy_{NPY_TYPES[code][1:]}", npy, ".npy", code, code if code not in "fd" else "q")
    data_set("npy_v2", lambda *a: npy(*a, version=2), ".npy", shape=(3, 1, 4))
    data_set("npy_v3", lambda *a: npy(*a, version=3), ".npy")
    for code in IDX_TYPES:
        data_set(f"idx_{IDX_TYPES[code]:02x}", idx, ".idx", code, code if code not in "fd" else "i")
    data_set("idx_gz", idx, ".idx.gz")

    good = npy("B", (SAMPLES, 3, 4), x)
    bad = {
        "truncated": good[:-1], "long": good + b"x", "empty": b"", "short_head": good[:40], "no_magic": b"x" + good[1:],
        "version": good[:6] + b"\x09" + good[7:], "fortran": npy("B", (SAMPLES, 3, 4), x, fortran=True),
        "big_endian": npy("i", (SAMPLES, 3, 4), x, descr=">i4"), "object": npy("B", (SAMPLES, 3, 4), x, descr="|O"),
        "shape": npy("B", (SAMPLES, 4, 3), x), "scalar": npy("B", (), x[:1]), "none": npy("B", (0, 3, 4), []),
        "absurd": npy("d", (1 << 62, 1 << 62, 4), []), "huge": npy("d", (1 << 40, 3, 4), []),
        "overflow": npy("d", (10**30, 3, 4), []), "samples": npy("B", (SAMPLES - 1, 3, 4), x[:-ELEMENTS]),
        "header_size": good[:8] + b"\xff\xff" + good[10:], "nonsense": good[:10] + b"[" * (len(good) - 10),
    }
    for name, data in bad.items():
        data_set("bad_npy_" + name, npy, ".npy", x_file=data)
    data_set("bad_npy_range", npy, ".npy", id_code="i", id_file=npy("i", (SAMPLES,), i[:4] + [1000] + i[5:]))
    data_set("bad_npy_negative", npy, ".npy", id_code="i", id_file=npy("i", (SAMPLES,), i[:9] + [-1]))
    data_set("bad_npy_real_ids", npy, ".npy", id_file=npy("f", (SAMPLES,), i))

    good = idx("B", (SAMPLES, 3, 4), x)
    bad = {
        "truncated": good[:-1], "long": good + b"x", "no_magic": b"\x01" + good[1:], "type": good[:2] + b"\x07" + good[3:],
        "dims": good[:3] + b"\xff" + good[4:], "absurd": good[:4] + b"\xff" * 12 + good[16:], "head": good[:9],
    }
    for name, data in bad.items():
        data_set("bad_idx_" + name, idx, ".idx", x_file=data)
        data_set("bad_gz_" + name, idx, ".idx.gz", x_file=data)
    data_set("bad_gz_cut", idx, ".idx.gz")
    path = f"{root}/bad_gz_cut/x.idx.gz"
    whole = open(path, "rb").read()
    open(path, "wb").write(whole[: len(whole) // 2])
    data_set("bad_gz_crc", idx, ".idx.gz")
    path = f"{root}/bad_gz_crc/x.idx.gz"
    open(path, "wb").write(whole[:-8] + b"\0\0\0\0" + whole[-4:])

    with open(f"{root}/expected", "w") as file:
        # Five steps of 4 samples are two epochs of 10.
        batches = [range(0, 4), range(4, 6)]
        evaluation = sum(len(b) * loss(b, xt, it) for b in batches) / TEST_SAMPLES
        file.write(f"{2 * loss(range(SAMPLES), x, i)} {evaluation}\n")


def checkpoints(path, root):
    """Damaged copies of the checkpoint at path."""
    whole = open(path, "rb").read()
    size = struct.unpack("<Q", whole[:8])[0]
    header, data = whole[8 : 8 + size], whole[8 + size :]

    def put(name, header_, data_, size_=None):
        write(f"{root}/{name}.safetensors", struct.pack("<Q", len(header_) if size_ is None else size_) + header_ + data_)

    put("truncated", header, data[:-1])
    put("long", header, data + b"x")
    put("header_size", header, data, 1 << 63)
    put("header_long", header, data, len(header) + len(data) + 1)
    put("json", header[:-10] + b" " * 10, data)
    put("array", b"[" * len(header), data)
    put("dtype", header.replace(b'"F64"', b'"F32"'), data)
    put("shape", header.replace(b"[5,3,7]", b"[5,7,3]"), data)
    put("rank", header.replace(b"[5,3,7]", b"[105]  "), data)
    put("unknown", header.replace(b'"s":', b'"z":'), data)
    put("past", header.replace(b'"s":', b'"z":').replace(b"[436,440]", b"[436,444]"), data)
    put("no_parameter", header.replace(b'"a":', b'"__metadata__":', 1), data)
    put("negative", header.replace(b"[0,420]", b"[-1,419]"), data)
    put("fraction", header.replace(b"[0,420]", b"[0.5,420.5]"), data)
    put("big", header.replace(b"[0,420]", b"[1e300,1e301]"), data)
    put("backwards", header.replace(b"[0,420]", b"[420,0]"), data)
    put("overlap", header.replace(b"[420,436]", b"[404,420]"), data)
    put("twice", header.replace(b'"s":', b'"a":'), data)
    put("garbage", header + b"  x", data)
    write(f"{root}/empty.safetensors", b"")
    write(f"{root}/seven.safetensors", whole[:7])
    # only the parameter, as another tool would write it
    alone = b'{"a":{"shape":[5,3,7],"data_offsets":[0,420],"dtype":"F32"}}'
    put("good_parameters", alone, data[:420])


if __name__ != "__main__":
    pass  # another script takes idx, npy and write
elif sys.argv[1] == "checkpoints":
    checkpoints(sys.argv[2], sys.argv[3])
else:
    main(sys.argv[1])
