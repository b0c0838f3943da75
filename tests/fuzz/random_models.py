#!/usr/bin/python3
"""Random models, compiled and trained: random_models.py --build BUILD [--seeds A..B] [--keep DIR] [--sanitize] [--jobs N]

From every seed a valid model is made: layers and operators of the prelude, index statements of its own (windows, contractions,
strides, shifts, constants, reversed and repeated dimensions), views, broadcasting, tied parameters, states, several losses, an
optimizer. It is compiled for 1, 2, 3 and 5 ranks in f64 and trained for 3 steps on made-up data. Losses, metrics and norms of
all must agree to 1e-10 with one rank, one rank with the interpreter to 1e-9, what is saved to ten times that. A C compiler that
warns, an interpreter or a program that fails, is a failure too. The last line says how many seeds failed.

--sanitize: programs are built with the address and undefined behaviour sanitizers, every tensor in memory of its own.
--check: they run in the checking mode of the host layer, which see in runtime/README.md. --keep: the files of failing seeds are
kept. --print SEED writes the model of a seed. --f32 also trains in f32 and holds the first loss against that of f64, to 1e-3.
"""

import argparse
import array
import concurrent.futures
import json
import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run"))
from checks import launcher

RANKS = (1, 2, 3, 5)
STEPS = 3
TO_INTERPRETER, TO_RANKS = 1e-9, 1e-10
MOST = 3000  # elements of a tensor
MOST_WORK = 60000  # iterations of a statement
TIMEOUT = 120
NOT_COMPARED = {"ms", "samples_per_second", "sent_bytes"}  # of a line of a log

PLAIN_NAMES = ["a", "c", "d", "e", "f", "g", "h", "k", "m", "p", "q", "r", "s", "u", "v", "w"]
# Words of C, of the runtime and of emitted programs: as good as any other as names of dimensions and tensors.
HOSTILE_NAMES = ["int", "long", "double", "float", "const", "static", "return", "auto", "register", "i", "l", "t", "n", "x",
                 "count", "row", "rows", "lanes", "LANES", "lane", "seed", "stream", "len", "lo", "batch0", "parcc", "main",
                 "forward", "inputs", "model", "scalars", "zero", "arena", "stored", "event", "DATA", "RANKS", "NULL", "INFINITY",
                 "M_PI", "y0", "j1", "gamma", "signbit", "switch", "restrict", "_Bool", "asm", "unix", "linux", "I", "class",
                 "new", "template", "this", "blockIdx", "threadIdx", "update", "errno", "stdin", "BLOCK", "GRID", "FLAT",
                 "AT", "ONCE", "memory", "sizeof", "size_t", "Interval", "over_data", "init", "report", "evaluate", "backward"]
KEYWORDS = {"op", "layer", "optimizer", "fn", "model", "train", "input", "param", "state", "update", "loss", "metric", "true",
            "false", "inf", "pi", "training"}


class Tensor:
    def __init__(self, name, shape):
        self.name, self.shape = name, tuple(shape)
        self.uses = 0

    @property
    def rank(self):
        return len(self.shape)


class Models:
    """Makes the text of one model."""

    def __init__(self, seed, plain=False):
        self.rng = random.Random(seed)
        self.seed = seed
        self.definitions, self.lines, self.pool = [], [], []
        self.count = 0
        self.hostile = self.rng.random() < 0.3 and not plain
        self.batch = self.rng.choice([1, 2, 3, 4, 4, 5, 7, 8])

    # ---- choices

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, fits=lambda t: True):
        """A tensor of the pool; those not yet used, and the newest, are the likeliest."""
        found = [t for t in self.pool if fits(t)]
        if not found:
            return None
        weights = [(3 if t.uses == 0 else 1) * (1 + i / len(found)) for i, t in enumerate(found)]
        t = self.rng.choices(found, weights)[0]
        t.uses += 1
        return t

    def fresh(self, prefix="t"):
        self.count += 1
        if self.hostile and self.chance(0.2):
            word = self.rng.choice(HOSTILE_NAMES)
            if word not in KEYWORDS and word not in self.taken and not self.taken.add(word):
                return word
        return f"{prefix}{self.count}"

    taken = set()

    def dims(self, n):
        names = PLAIN_NAMES + ([w for w in HOSTILE_NAMES if w not in KEYWORDS] if self.hostile else [])
        return self.rng.sample([w for w in names if w not in self.taken], n)

    def add(self, line, shape, name=None):
        name = name or self.fresh()
        self.lines.append(line.replace("@", name))
        self.pool.append(Tensor(name, shape))
        return self.pool[-1]

    def param(self, shape, scale=None):
        name = self.fresh("w")
        if scale is None:
            scale = self.rng.choice(["normal_init(0.5)", "uniform_init(0.7)", "normal()", "0.3 * normal()", "uniform(0.2, 0.9)"])
        # Names of dimensions of a parameter are bound in the whole model: no others may be called so.
        declared = ", ".join(f"{name}_{i} = {n}" if self.chance(0.3) else str(n) for i, n in enumerate(shape))
        self.lines.append(f"param {name}[{declared}] = {scale};")
        return name

    def number(self):
        return self.rng.choice(["0.5", "2", "1", "0.25", "1.5", "3", "0.1"])

    # ---- scalar expressions over elements; values stay small

    def scalar(self, leaves, depth):
        rng = self.rng
        if depth <= 0 or self.chance(0.15):
            return rng.choice(leaves)
        a, b = self.scalar(leaves, depth - 1), self.scalar(leaves, depth - 1)
        form = rng.choice([
            "tanh({a})", "sin({a})", "cos({a})", "exp(-abs({a}))", "sqrt(abs({a}) + 0.5)", "log(1.5 + abs({a}))", "erf({a})",
            "abs({a})", "pow(abs({a}) + 0.5, 1.5)", "(-{a})", "logistic({a})", "max({a}, 0)", "min({a}, 1)", "({a} + {b})",
            "({a} - {b})", "tanh({a} * {b})", "{a} / (1 + abs({b}))", "max({a}, {b})", "min({a}, {b})",
            "select({a} > {b}, {a}, {b} * {n})", "select({a} > 0.1 and {b} < 0.3, {n}, {a})",
            "select(not ({a} <= 0.2 or {b} >= 0.7), {b}, {a})", "({a} > {n}) * {b}", "stop({a}) * tanh({b})",
            "({a} * {n} + {b})", "select({a} != {b}, {a}, {n})", "exp(min({a}, 1))", "{a} * one({l})", "tanh({a}) * tanh({a})",
            "pow(tanh({a}), 2)", "pow(tanh({a}), 3)", "select(-inf < {a}, {a}, {b})", "floor({a} * 3) * 0.2 * {b}"])
        return form.format(a=a, b=b, n=self.number(), l=leaves[0])

    def unary(self, name):
        """A chain of prelude functions on a tensor of this name."""
        functions = ["relu", "tanh", "sigmoid", "silu", "gelu", "softplus", "leaky_relu(0.1)", "elu", "gelu_tanh", "sin", "cos",
                     "erf", "neg", "abs", "clamp(-0.7, 0.9)"]
        return f"{name} |> " + " |> ".join(self.rng.choice(functions) for _ in range(self.rng.randint(1, 3)))

    # ---- statements; each gives True where it was possible

    def elementwise(self):
        x = self.pick()
        self.add(f"@ = {self.unary(x.name)};", x.shape)
        return True

    def expression(self):
        """An index statement over the elements of one tensor and what can be broadcast to it."""
        x = self.pick(lambda t: t.rank > 0)
        if x is None:
            return False
        dims = self.dims(x.rank)
        leaves = [f"{x.name}[{', '.join(dims)}]", self.number()]
        leaves += [f"({d} / {n + 1})" for d, n in zip(dims, x.shape)]
        for _ in range(self.rng.randint(0, 2)):  # others whose extents are found among those of x
            other = self.pick(lambda t: 0 < t.rank <= x.rank)
            if other is None:
                continue
            places = []
            for n in other.shape:
                fits = [d for d, e in zip(dims, x.shape) if e == n]
                places.append(self.rng.choice(fits) if fits else str(self.rng.randrange(n)))
            leaves.append(f"{other.name}[{', '.join(places)}]")
        some = [i for i in range(x.rank) if self.chance(0.5)]
        if some and self.chance(0.6):
            w = self.param([x.shape[i] for i in some])
            leaves.append(f"{w}[{', '.join(dims[i] for i in some)}]")
        if self.chance(0.15):
            leaves.append(self.rng.choice(["uniform()", "normal()", "normal(0.2)", "uniform(-1, 1)"]))
        out = list(range(x.rank))
        if self.chance(0.3):
            self.rng.shuffle(out)
        body = self.scalar(leaves, 3)
        given = leaves[0] not in body or self.chance(0.1)
        left = ", ".join(f"{dims[i]} = {x.shape[i]}" if given else dims[i] for i in out)
        self.add(f"@[{left}] = tanh({body});", [x.shape[i] for i in out])
        return True

    def einsum(self):
        """A product of several tensors, reduced over some of their dimensions."""
        rng, extents, factors = self.rng, {}, []
        names = iter(self.dims(14))
        for k in range(rng.randint(1, 3)):
            if k > 0 and self.chance(0.6):
                places = [d for d in extents if self.chance(0.6)]
                shape = [extents[d] for d in places]
                for _ in range(rng.randint(0, 2)):
                    places.append(next(names))
                    shape.append(rng.randint(1, 4))
                    extents[places[-1]] = shape[-1]
                order = rng.sample(range(len(places)), len(places))[:7]
                if not order:
                    continue
                for i in set(range(len(places))) - set(order):
                    if not any(places[i] in f for _, f in factors):
                        del extents[places[i]]
                places, shape = [places[i] for i in order], [shape[i] for i in order]
                name = self.param(shape)
            else:
                x = self.pick(lambda t: 0 < t.rank <= 6)
                if x is None:
                    return False
                name, places = x.name, []
                for n in x.shape:
                    known = [d for d, e in extents.items() if e == n and (d not in places or self.chance(0.2))]
                    places.append(rng.choice(known) if known and self.chance(0.7) else next(names))
                    extents[places[-1]] = n
            if len(extents) > 10 or math.prod(extents.values()) > MOST_WORK:
                return False
            factors.append((name, places))
        if not factors:
            return False
        accesses = [f"{n}[{', '.join(p)}]" for n, p in factors]
        kept = [d for d in extents if self.chance(0.55)][:7]
        rng.shuffle(kept)
        while math.prod(extents[d] for d in kept) > MOST:
            kept.pop()
        gone = [d for d in extents if d not in kept]
        rng.shuffle(gone)
        if self.chance(0.3):
            i = rng.randrange(len(accesses))
            accesses[i] = self.scalar([accesses[i]], 2)
        body = " * ".join(accesses)
        if gone:
            how = rng.choices(["sum", "max", "min", "prod"], [8, 2, 1, 1])[0]
            inside = gone
            if len(gone) > 1 and self.chance(0.25):  # reductions one in the other
                cut = rng.randint(1, len(gone) - 1)
                inside = gone[:cut]
                other = rng.choice(["sum", "max", "min"])
                body = f"tanh({other}({', '.join(gone[cut:])}) {body})"
            if how == "prod":
                body = f"(1 + 0.3 * tanh({body}))"
            body = f"({how}({', '.join(inside)}) {body})"
        size = math.prod(extents[d] for d in gone)
        self.add(f"@[{', '.join(kept)}] = {body} / {math.sqrt(size):.3};", [extents[d] for d in kept])
        return True

    def affine(self):
        """Elements at affine places: windows, strides, shifts, reversed, constant, one dimension twice."""
        rng = self.rng
        x = self.pick(lambda t: 0 < t.rank <= 5)
        if x is None:
            return False
        names = iter(self.dims(14))
        left, inner, places, safe, within = [], [], [], True, True
        for n in x.shape:
            mode = rng.choice(["plain", "plain", "window", "window", "shift", "reversed", "constant", "pair", "stride", "again"])
            if mode == "again" and not left:
                mode = "plain"
            if mode == "window":
                p, r = next(names), next(names)
                kernel, stride, dilation = rng.randint(1, 3), rng.randint(1, 3), rng.choice([1, 1, 2, 3])
                pad = rng.randint(0, 2)
                extent = max(1, (n + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1 + rng.choice([0, 0, 0, 1, -1]))
                if extent > 12:
                    return False
                left.append((p, extent))
                inner.append((r, kernel))
                places.append(rng.choice([f"{p}*{stride} + {r}*{dilation} - {pad}", f"{stride}*{p} - {pad} + {dilation}*{r}"]))
                safe &= all(any(0 <= i * stride + j * dilation - pad < n for j in range(kernel)) for i in range(extent))
                within &= 0 <= -pad and (extent - 1) * stride + (kernel - 1) * dilation - pad < n
            elif mode == "shift":
                p, by = next(names), rng.randint(-3, 3)
                left.append((p, max(1, n + rng.randint(-2, 2))))
                places.append(f"{p} - {by}" if by >= 0 else f"{p} + {-by}")
                safe &= all(0 <= i - by < n for i in range(left[-1][1]))
            elif mode == "reversed":
                p = next(names)
                left.append((p, n))
                places.append(f"{n - 1} - {p}")
            elif mode == "constant":
                places.append(str(rng.randrange(n)))
            elif mode == "pair":
                p, q, stride = next(names), next(names), rng.randint(1, 3)
                left += [(p, rng.randint(1, 3)), (q, rng.randint(1, 3))]
                places.append(f"{p}*{stride} + {q}")
                safe &= (left[-2][1] - 1) * stride + left[-1][1] - 1 < n
            elif mode == "stride":
                p, stride, start = next(names), rng.randint(2, 3), rng.randint(0, 1)
                left.append((p, max(1, (n - start + stride - 1) // stride)))
                places.append(f"{p}*{stride} + {start}" if start else f"{stride}*{p}")
                safe &= (left[-1][1] - 1) * stride + start < n
            elif mode == "again":
                p, extent = rng.choice(left)
                by = rng.randint(0, 1)
                places.append(f"{p} - {by}" if by else p)
                safe &= extent - 1 - by < n and by == 0
                if by == 0 and extent != n:  # a plain place must agree with its tensor
                    places[-1] = f"{p} + 1 - 1" if self.chance(0.5) else f"{p}*1 + 0"
            else:
                p = next(names)
                left.append((p, n))
                places.append(p)
        if not left or len(left) > 7 or math.prod(e for _, e in left + inner) > MOST_WORK or math.prod(e for _, e in left) > MOST:
            return False
        body = f"{x.name}[{', '.join(places)}]"
        if self.chance(0.4):
            some = [d for d in left + inner if self.chance(0.5)][:7]
            if some:
                w = self.param([e for _, e in some])
                body += f" * {w}[{', '.join(d for d, _ in some)}]"
        # Outside of the tensor a max reads minus infinity, which only the plain access bears.
        bare = body.endswith("]") and " * w" not in body
        how = rng.choices(["sum", "max", "min", "prod"], [5, 4, 2, 1] if safe and (within or bare) else [5, 0, 0, 1])[0]
        if how == "prod":
            body = f"(1 + 0.2 * tanh({body}))"
        elif self.chance(0.2) and (within and safe or how == "sum"):
            body = self.scalar([body], 1)
        if self.chance(0.2) and inner and (within and safe or how == "sum"):  # one more dimension that the access does not have
            inner.append((next(names), rng.randint(1, 3)))
            body = f"{body} * (1 + {inner[-1][0]})" if how != "prod" else body
        if inner:
            body = f"{how}({', '.join(f'{d} < {e}' for d, e in inner)}) {body}"
        else:
            body = f"({body})"
        if self.chance(0.3):
            rng.shuffle(left)
        self.add(f"@[{', '.join(f'{d} = {e}' for d, e in left)}] = {body};", [e for _, e in left])
        return True

    def conv(self):
        x = self.pick(lambda t: 3 <= t.rank <= 5)
        if x is None:
            return False
        rng, space = self.rng, x.shape[2:]
        kernel = [rng.randint(1, 3) for _ in space]
        stride = [rng.choice([1, 1, 2, 3]) for _ in space]
        pad = [rng.randint(0, 2) for _ in space]
        dilation = [rng.choice([1, 1, 2]) for _ in space]
        out = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(space, kernel, stride, pad, dilation)]
        if min(out) < 1:
            return False
        groups = rng.choice([g for g in range(1, x.shape[1] + 1) if x.shape[1] % g == 0])
        filters = groups * rng.randint(1, 3)
        shape = [x.shape[0], filters] + out
        if math.prod(shape) * math.prod(kernel) * x.shape[1] > MOST_WORK or math.prod(shape) > MOST:
            return False
        extra = rng.choice(["", ", bias = false", ', init = "xavier"', ', init = "kaiming_out"', ', init = "normal", std = 0.3'])
        self.add(f"@ = conv({x.name}, {filters}, {kernel}, stride = {stride}, pad = {pad}, dilation = {dilation}, "
                 f"groups = {groups}{extra});", shape)
        return True

    def pool_(self):
        x = self.pick(lambda t: 3 <= t.rank <= 5)
        if x is None:
            return False
        if self.chance(0.25):
            self.add(f"@ = {self.rng.choice(['global_avgpool', 'global_maxpool'])}({x.name});", x.shape[:2])
            return True
        rng, space = self.rng, x.shape[2:]
        size = [rng.randint(1, 3) for _ in space]
        stride = [rng.randint(1, 3) for _ in space]
        pad = [rng.randint(0, k - 1) for k in size]
        out = [(n + 2 * p - k) // s + 1 for n, k, s, p in zip(space, size, stride, pad)]
        if min(out) < 1:
            return False
        how = rng.choice(["maxpool", "avgpool"])
        for n, k, s, p, o in zip(space, size, stride, pad, out):
            if not all(any(0 <= i * s + j - p < n for j in range(k)) for i in range(o)):
                how = "avgpool"
        self.add(f"@ = {how}({x.name}, {size}, stride = {stride}, pad = {pad});", x.shape[:2] + tuple(out))
        return True

    def dense(self):
        x = self.pick(lambda t: t.rank > 0)
        if x is None:
            return False
        units = self.rng.randint(1, 6)
        if math.prod(x.shape) // x.shape[-1] * units > MOST:
            return False
        extra = self.rng.choice(["", "", ", bias = false", ', init = "kaiming"', ', init = "zero"'])
        if self.chance(0.3):
            self.lines.append(f"param {(w := self.fresh('tied'))}[{units}, {x.shape[-1]}] = normal_init(0.4);")
            extra = f", w = {w}"
            if units == x.shape[-1]:
                self.lines.append(f"{(y := self.fresh())} = dense({x.name}, {units}{extra}) |> tanh;")
                self.add(f"@ = dense({y}, {units}{extra}, bias = false);", x.shape)
                return True
            if self.chance(0.5):  # tied the other way round
                y = self.add(f"@ = dense({x.name}, {units}{extra}) |> tanh;", x.shape[:-1] + (units,))
                dims = self.dims(2)
                self.lines.append(f"{(v := self.fresh())}[{dims[0]}, {dims[1]}] = {w}[{dims[1]}, {dims[0]}];")
                self.add(f"@ = dense({y.name}, {x.shape[-1]}, w = {v});", x.shape)
                return True
        self.add(f"@ = dense({x.name}, {units}{extra});", x.shape[:-1] + (units,))
        return True

    def normalise(self):
        how = self.rng.choice(["batchnorm", "layernorm", "rmsnorm", "softmax", "log_softmax", "local_response_norm", "centre",
                               "spread", "dropout"])
        least = {"batchnorm": 2, "local_response_norm": 2, "centre": 2}.get(how, 1)
        x = self.pick(lambda t: t.rank >= least)
        if x is None:
            return False
        call = f"{how}({x.name}"
        if how.endswith("softmax"):
            axis = self.rng.randrange(x.rank)
            call += f", axis = {axis}" if self.chance(0.5) else f", axis = {axis - x.rank}"
        elif how == "local_response_norm":
            call += f", size = {self.rng.randint(1, 6)}, alpha = 0.3"
        elif how in ("batchnorm", "layernorm", "rmsnorm"):
            call += ", eps = 0.1"  # rows of one element, and of equal ones, are far from dividing by 0
        elif how == "dropout":
            call += f", {self.rng.choice([0.2, 0.5, 0.9])}"
        elif how == "centre":
            self.define("""layer centre(x[n, c, s..]; momentum = 0.2) -> y[n, c, s..] {
  state running[c] = 0.1;
  if training {
    now[c] = (sum(n, s..) x[n, c, s..]) / (sum(n, s..) one(x[n, c, s..]));
    update running[c] = (1 - momentum) * running[c] + momentum * now[c];
  } else {
    now = running;
  }
  y[n, c, s..] = x[n, c, s..] - 0.5 * running[c] - 0.3 * now[c];
}""")
        elif how == "spread":
            self.define("""op spread(x[i.., c]) -> y[i.., c] {
  top[i..] = max(c) x[i.., c];
  low[i..] = min(c) x[i.., c];
  y[i.., c] = (x[i.., c] - low[i..]) / (0.5 + top[i..] - low[i..]) * (1 + c / c.extent);
}""")
        self.add(f"@ = {call});", x.shape)
        return True

    def define(self, text):
        if text not in self.definitions:
            self.definitions.append(text)

    def reduce(self):
        x = self.pick(lambda t: t.rank > 0)
        if x is None:
            return False
        axis = self.rng.randrange(x.rank)
        dims = self.rng.randint(1, x.rank - axis)
        how = self.rng.choice(["sum_over", "mean_over", "max_over", "min_over"])
        small = f" * {1 / math.prod(x.shape[axis:axis + dims]):.4f}" if how == "sum_over" else ""
        self.add(f"@ = {how}({x.name}, axis = {axis}, dims = {dims}){small};", x.shape[:axis] + x.shape[axis + dims:])
        return True

    def broadcast(self):
        x = self.pick(lambda t: t.rank > 0)
        if x is None:
            return False
        y = self.pick(lambda t: all(a == b or a == 1 or b == 1 for a, b in zip(x.shape[::-1], t.shape[::-1])))
        if y is None or self.chance(0.4):
            shape = [n if self.chance(0.6) else 1 for n in x.shape[self.rng.randrange(x.rank):]]
            y = Tensor(self.param(shape), shape)
        rank = max(x.rank, y.rank)
        a, b = ((1,) * (rank - t.rank) + t.shape for t in (x, y))
        shape = [max(n, m) for n, m in zip(a, b)]
        if math.prod(shape) > MOST:
            return False
        form = self.rng.choice(["{a} + {b}", "{a} * {b}", "{b} - {a}", "{a} / (1 + abs({b}))", "max({a}, {b})", "min({b}, {a})",
                                "select({a} > {b}, {a}, {b})", "tanh({a} * {b}) + {b}", "({a} > {b}) * {a}", "{a} - 2 * {b}"])
        self.add(f"@ = {form.format(a=x.name, b=y.name)};", shape)
        return True

    def view(self):
        rng = self.rng
        x = self.pick(lambda t: 0 < t.rank <= 5)
        if x is None:
            return False
        before, parts, given = [], [], {}
        names = iter(self.dims(14))
        for n in x.shape:
            splits = [f for f in range(1, n + 1) if n % f == 0]
            if self.chance(0.3) and len(parts) < 6:
                a, b, f = next(names), next(names), rng.choice(splits)
                before.append(f"({a} {b})")
                parts += [(a, f), (b, n // f)]
                if self.chance(0.5):
                    given[a] = f
                else:
                    given[b] = n // f
            elif n == 1 and self.chance(0.3):
                before.append("1")
            else:
                d = next(names)
                before.append(d)
                parts.append((d, n))
        if self.chance(0.6):
            rng.shuffle(parts)
        after, shape, i = [], [], 0
        while i < len(parts):
            k = rng.choice([1, 1, 1, 2, 3])
            group = parts[i:i + k]
            after.append(group[0][0] if len(group) == 1 else f"({' '.join(d for d, _ in group)})")
            shape.append(math.prod(e for _, e in group))
            i += k
        if self.chance(0.15):
            place = rng.randint(0, len(after))
            after.insert(place, "1")
            shape.insert(place, 1)
        if not after or len(shape) > 7:
            return False
        extents = "".join(f", {d} = {e}" for d, e in given.items())
        self.add(f'@ = view({x.name}, "{" ".join(before)} -> {" ".join(after)}"{extents});', shape)
        return True

    def shape_(self):
        rng = self.rng
        x = self.pick(lambda t: t.rank > 0)
        if x is None:
            return False
        axis = rng.randrange(x.rank)
        n, shape = x.shape[axis], list(x.shape)
        shown = axis if self.chance(0.5) else axis - x.rank
        how = rng.choice(["slice", "pad", "concat", "concat", "transpose", "first", "halves"])
        if how == "slice":
            start = rng.randrange(n)
            end, stride = rng.randint(start + 1, n), rng.randint(1, 3)
            shape[axis] = (end - start + stride - 1) // stride
            self.add(f"@ = slice({x.name}, axis = {shown}, from = {start}, to = {end}, stride = {stride});", shape)
        elif how == "pad":
            before, after = rng.randint(0, 2), rng.randint(0, 2)
            shape[axis] += before + after
            self.add(f"@ = pad({x.name}, axis = {shown}, before = {before}, after = {after}, "
                     f"value = {rng.choice(['0', '0.5', '-1'])});", shape)
        elif how == "concat":
            others = [x]
            for _ in range(rng.randint(1, 5)):
                others.append(self.pick(lambda t: t.rank == x.rank and
                                        t.shape[:axis] + t.shape[axis + 1:] == x.shape[:axis] + x.shape[axis + 1:]) or x)
            shape[axis] = sum(t.shape[axis] for t in others)
            if math.prod(shape) > MOST:
                return False
            self.add(f"@ = concat([{', '.join(t.name for t in others)}], axis = {shown});", shape)
        elif how == "transpose" and x.rank >= 2:
            self.add(f"@ = transpose({x.name});", shape[:-2] + [shape[-1], shape[-2]])
        elif how == "first":
            places = [rng.randrange(m) for m in shape[:rng.randint(1, x.rank)]]
            self.add(f"@ = {x.name}[{', '.join(map(str, places))}];", shape[len(places):])
        elif how == "halves" and n > 1:
            self.define("""op halves(x[i..axis, k, j..]; axis = -1) -> low[i.., p, j..], high[i.., q, j..]
  where p = k // 2, q = k - k // 2
{
  low[i.., p, j..]  = x[i.., p, j..];
  high[i.., q, j..] = x[i.., q + k // 2, j..] * 0.5;
}""")
            low, high = self.fresh(), self.fresh()
            self.lines.append(f"{low}, {high} = halves({x.name}, axis = {shown});")
            for name, m in ((low, n // 2), (high, n - n // 2)):
                self.pool.append(Tensor(name, shape[:axis] + [m] + shape[axis + 1:]))
        else:
            return False
        return True

    def attend(self):
        x = self.pick(lambda t: t.rank == 3)
        if x is None:
            return False
        heads = self.rng.choice([h for h in range(1, x.shape[2] + 1) if x.shape[2] % h == 0])
        causal = self.rng.choice(["true", "false"])
        self.add(f"@ = multihead({x.name}, {heads}, causal = {causal});", x.shape)
        return True

    def products(self):
        x = self.pick(lambda t: t.rank >= 2)
        if x is None:
            return False
        units = self.rng.randint(1, 5)
        if self.chance(0.5):
            w = self.param(x.shape[:-2] + (x.shape[-1], units))
            if math.prod(x.shape[:-1]) * units > MOST:
                return False
            self.add(f"@ = batched_matmul({x.name}, {w}) * 0.4;", x.shape[:-1] + (units,))
        else:
            k = self.rng.randint(1, x.rank - 1)
            w = self.param(x.shape[x.rank - k:] + (units,))
            self.add(f"@ = contract({x.name}, {w}, dims = {k}) * 0.3;", x.shape[:x.rank - k] + (units,))
        return True

    def ramp(self):
        n, m = self.rng.randint(1, 4), self.rng.randint(1, 4)
        a, b = self.dims(2)
        body = self.rng.choice([f"{a} / {n}", f"(1.0 * {a} - 2 * {b}) * 0.5", f"select({b} > {a}, 0.5, {a})", f"({a} == {b}) * 1.0"])
        self.add(f"@[{a} = {n}, {b} = {m}] = {body};", (n, m))
        return True

    # ---- the whole

    def head(self, x):
        """A loss of a tensor."""
        rng = self.rng
        if x.rank == 0:
            return rng.choice(["tanh({0})", "{0} * {0}", "0.5 * {0}"]).format(x.name)
        forms = ["mean({0} * {0})", "mean(tanh({0}))", "mean(abs({0}))", "0.1 * max({0})", "mean(softmax({0}) * {0})",
                 "mse({0}, {0} * 0.5 + 0.1)", "mae({0}, tanh({0}))", "binary_cross_entropy({0}, logistic_of({0}))",
                 f"sum({{0}} * {{0}}) * {1 / math.prod(x.shape):.3g}", "mean(sin({0}))", "0.3 * min(abs({0}))"]
        form = rng.choice(forms)
        if "logistic_of" in form:
            form = form.replace("logistic_of({0})", "stop_of({0})")
            self.define("op stop_of(x[i..]) -> y[i..] { y[i..] = logistic(stop(x[i..])); }")
        if x.rank == 2 and x.shape[0] == self.batch and self.chance(0.4):
            form = f"cross_entropy(dense({{0}}, {self.classes}), label)"
        return form.format(x.name)

    def optimizer(self):
        rng = self.rng
        rate = rng.choice(["0.1", "0.02", "0.003"])
        signed = """optimizer signed(w[i..], g[i..]; lr = 0.001, beta = 0.9) -> u[i..] {
  state average[i..] = 0;
  a[i..] = beta * average[i..] + (1 - beta) * g[i..];
  update average = a;
  u[i..] = w[i..] - lr * tanh(30 * a[i..]) - lr * step / steps * w[i..];
}"""
        chosen = rng.choice([f"sgd(lr = {rate})", f"sgd(lr = {rate}, momentum = 0.9)",
                             f"sgd(lr = {rate}, momentum = 0.8, nesterov = true, weight_decay = 0.01)",
                             f"sgd(lr = {rate}, weight_decay = 0.1)", f"adam(lr = {rate}, eps = 1e-3)",
                             f"adam(lr = {rate}, eps = 1e-3, weight_decay = 0.02)", f"adamw(lr = {rate}, eps = 1e-3)",
                             f"signed(lr = {rate})"])
        if chosen.startswith("signed"):
            self.define(signed)
        lines = [f"optimizer = {chosen};"]
        if self.chance(0.5):
            lines.append("schedule = " + rng.choice(["cosine(warmup = 2)", "step_decay(every = 2, factor = 0.5)", "linear(last = 0.1)",
                                                     "constant()", "linear_warmup(2)"]) + ";")
        if self.chance(0.4):
            lines.append(f"clip = {rng.choice(['1.0', '0.05', '100'])};")
        if self.chance(0.5):
            lines.append(f"steps = {rng.choice([3, 7, 50])};")
        return lines

    def text(self):
        rng = self.rng
        self.taken = set()
        self.classes = rng.randint(1, 5)
        dims = lambda: ", ".join(map(str, ["batch"] + list(shape[1:])))
        for _ in range(rng.randint(1, 3)):
            while True:
                shape = [self.batch] + [rng.choice([1, 2, 3, 3, 4, 5, 6, 7]) for _ in range(rng.randint(0, 4))]
                if math.prod(shape) <= 800:
                    break
            name = self.fresh("x")
            self.lines.append(f"input {name}[{dims()}];")
            self.pool.append(Tensor(name, shape))
        self.lines.append(f"input label[batch]: int < {self.classes};")
        if self.chance(0.3):
            vocabulary, time, width = rng.randint(1, 6), rng.randint(1, 4), rng.randint(1, 4)
            self.lines.append(f"input token[batch, {time}]: int < {vocabulary};")
            table = self.param((vocabulary, width), "normal_init(0.5)")
            self.add(f"@ = embedding(token, {table});", (self.batch, time, width))
            if self.chance(0.5):
                self.add(f"@ = one_hot(token, classes = {vocabulary}) * 1.0;", (self.batch, time, vocabulary))
        kinds = [self.elementwise, self.expression, self.expression, self.einsum, self.einsum, self.affine, self.affine, self.affine,
                 self.conv, self.conv, self.pool_, self.dense, self.dense, self.normalise, self.normalise, self.reduce,
                 self.broadcast, self.view, self.view, self.shape_, self.shape_, self.attend, self.products, self.ramp]
        wanted = rng.randint(2, 12)
        made = 0
        while made < wanted:
            lines, pool = len(self.lines), len(self.pool)
            if rng.choice(kinds)():
                made += 1
                new = self.pool[-1]
                if self.chance(0.25):  # values stay where functions are not flat
                    new.uses += 1
                    self.add(f"@ = tanh({new.name});", new.shape)
            else:
                del self.lines[lines:], self.pool[pool:]
        heads = [t for t in self.pool if t.uses == 0] or self.pool[-1:]
        for i, t in enumerate(heads):
            name = f"part{i} " if i > 0 or self.chance(0.2) else ""
            self.lines.append(f"loss {name}= {self.head(t)};")
        if self.chance(0.5) or not any(word in line for line in self.lines for word in ("dense", "param", "conv")):
            flat = self.pick(lambda t: t.rank >= 1 and t.shape[0] == self.batch)
            rank = ["n"] + [f"d{i}" for i in range(flat.rank - 1)]
            flatten = f' |> view("{" ".join(rank)} -> n ({" ".join(rank[1:])})")' if flat.rank > 2 else ""
            source = f'view({flat.name}, "n -> n 1")' if flat.rank == 1 else flat.name
            self.lines.append(f"loss last = cross_entropy({source}{flatten} |> dense({self.classes}), label);")
        for t in rng.sample(self.pool, min(2, len(self.pool))):
            if t.rank >= 2 and t.shape[0] == self.batch and t.rank == 2:
                self.lines.append(f"metric right{t.name} = accuracy({t.name}, label);")
            elif t.rank >= 1:
                self.lines.append(f"metric seen{t.name} = mean(argmax({t.name}) * 1.0);")
        train = self.optimizer()
        out = self.definitions + [f"model random{self.seed}(batch = {self.batch}) {{"] + ["  " + l for l in self.lines] + ["}", ""]
        out += ["train {"] + ["  " + l for l in train] + ["}"]
        return "\n".join(out) + "\n"


# ---- running


class Failure(Exception):
    pass


def run(command, what, folder, silent=False, more=()):
    # Two mpiexec that start and end at once take each other's session folders away: each has its own.
    environment = dict(ENVIRONMENT, OMPI_MCA_orte_tmpdir_base=folder, **dict(more))
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", cwd=folder,
                              timeout=TIMEOUT, env=environment)
    except subprocess.TimeoutExpired:
        raise Failure(f"{what}: takes longer than {TIMEOUT} s") from None
    if done.returncode != 0:
        raise Failure(f"{what}: exit code {done.returncode}\n{done.stdout[:1500]}")
    if silent and done.stdout.strip():
        raise Failure(f"{what}: is not silent\n{done.stdout[:1500]}")


ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OPENBLAS_NUM_THREADS="1",
                   OMP_NUM_THREADS="1", MALLOC_PERTURB_="128",
                   UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1",
                   ASAN_OPTIONS="detect_leaks=0:malloc_fill_byte=127:max_malloc_fill_size=1000000")


def relative(a, b):
    if a == b:
        return 0.0
    if a is None or b is None:  # not a number
        return math.inf
    difference = abs(a - b) / max(abs(a), abs(b), 1e-6)
    return difference if difference == difference else math.inf


def read_log(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def compare_logs(one, other, tolerance, what):
    if len(one) != len(other):
        raise Failure(f"{what}: {len(one)} and {len(other)} lines")
    for a, b in zip(one, other):
        keys = a.keys() - NOT_COMPARED
        if keys != b.keys() - NOT_COMPARED:
            raise Failure(f"{what}: {sorted(a)} and {sorted(b)}")
        for key in sorted(keys):
            if relative(a[key], b[key]) > tolerance * (10 if key == "gradient_norm" else 1):
                where = f"step {a['step']}" if "step" in a else "evaluation"
                raise Failure(f"{what}: {where}: {key} is {a[key]!r} and {b[key]!r}")


def read_tensors(path):
    with open(path, "rb") as file:
        raw = file.read()
    (size,) = struct.unpack_from("<Q", raw)
    tensors = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = array.array({"F32": "f", "F64": "d", "I32": "i"}[entry["dtype"]], raw[8 + size + begin:8 + size + end])
    return tensors


def compare_tensors(one, other, tolerance, what):
    if one.keys() != other.keys():
        raise Failure(f"{what}: saved {sorted(one.keys() ^ other.keys())} only once")
    for name, a in one.items():
        b = other[name]
        scale = max(max(map(abs, a), default=0), 1e-2)
        worst = max((abs(x - y) for x, y in zip(a, b)), default=0) / scale
        if len(a) != len(b) or not worst <= tolerance:
            raise Failure(f"{what}: {name} differs by {worst:.1e} of its largest element")


def build(options, folder, ranks, dtype="f64"):
    name = f"{dtype}_{ranks}"
    parcc, parcc_cc = (os.path.join(options.build, "bin", tool) for tool in ("parcc", "parcc-cc"))
    run([parcc, "model.dnn", "-o", f"{name}.cu", f"--dtype={dtype}", f"--ranks={ranks}"], f"parcc --ranks={ranks}", folder)
    extra = ["--sanitize", "-g"] if options.sanitize else ["--check"] if options.check else []
    if options.sanitize:
        isolate(f"{folder}/{name}.cu")
    run([parcc_cc, "--target=host", options.optimize, *extra, f"{name}.cu", "-o", name], f"parcc-cc on {ranks} ranks", folder, True)
    return name


def isolate(path):
    """Gives every place in the arena memory of its own, as large as its largest tensor: what is read beside one is seen."""
    with open(path) as file:
        text = file.read()
    blocks = {name: -(-int(extent) // int(parts)) for name, extent, parts in
              re.findall(r"^  (\w+) = parcc_block\((\d+), (\d+), ", text, re.M)}
    sizes = {}
    for kind, name, shape in re.findall(r"^  (double|float|int) \*(\w+); // \S+ \[(.*)\]$", text, re.M):
        for block, extent in blocks.items():
            shape = shape.replace(f"{block}.len", str(extent))
        sizes[name] = math.prod(int(eval(part)) for part in shape.split(",") if part.strip()) * {"double": 8}.get(kind, 4)
    places = re.findall(r"^  t\.(\w+) = \(\w+ \*\)\(arena \+ (\d+)\);$", text, re.M)
    largest = {}
    for name, place in places:
        largest[place] = max(largest.get(place, 1), sizes[name])
    text = re.sub(r"\(arena \+ (\d+)\);$", lambda m: f"place_{m[1]};", text, flags=re.M)
    text = re.sub(r"^  char \*const arena = .*$", "\n".join(f"  char *const place_{place} = malloc({size});"
                                                            for place, size in largest.items()), text, flags=re.M)
    with open(path, "w") as file:
        file.write("#include <stdlib.h>\n" + text)


def train(folder, name, ranks, extra, check="0"):
    # Read by programs that are built with --check, whose ranks compare their calls by MPI.
    run(launcher(ranks, mpi=check == "1") + [f"./{name}", "--data=synthetic", "--steps", str(STEPS), "--quiet", "--log",
                                             f"{name}.log", "--save", f"{name}.st"] + extra, f"the program of {ranks} ranks", folder, more={"PARCC_HOST_CHECK": check})
    return read_log(f"{folder}/{name}.log"), read_tensors(f"{folder}/{name}.st")


def try_seed(options, seed):
    extra, check = ["--eval"] if options.eval else [], "1" if options.check else "0"
    folder = tempfile.mkdtemp(prefix=f"random{seed}_")
    try:
        text = open(options.model).read() if options.model else Models(seed, options.plain).text()
        with open(f"{folder}/model.dnn", "w") as file:
            file.write(text)
        log, saved = train(folder, build(options, folder, 1), 1, extra, check)
        interpret = os.path.join(options.build, "tests", "run", "interpret")
        run([interpret, "model.dnn", "--data", "synthetic", "--steps", str(STEPS), "--quiet", "--log", "i.log", "--save", "i.st"],
            "the interpreter", folder)
        steps = [line for line in log if "step" in line]
        compare_logs(read_log(f"{folder}/i.log"), steps, TO_INTERPRETER, "interpreter and 1 rank")
        compare_tensors(read_tensors(f"{folder}/i.st"), saved, 10 * TO_INTERPRETER, "interpreter and 1 rank")
        for ranks in RANKS[1:]:
            other, tensors = train(folder, build(options, folder, ranks), ranks, extra, check)
            compare_logs(log, other, TO_RANKS, f"1 rank and {ranks}")
            compare_tensors(saved, tensors, 10 * TO_RANKS, f"1 rank and {ranks}")
        if options.f32:
            other, _ = train(folder, build(options, folder, 2, "f32"), 2, extra, check)
            if relative(other[0]["loss"], log[0]["loss"]) > 1e-3:
                raise Failure(f"f64 and f32: loss is {log[0]['loss']!r} and {other[0]['loss']!r}")
        return seed, None
    except Failure as failure:
        if options.keep:
            kept = os.path.join(options.keep, f"seed{seed}")
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept)
        return seed, str(failure)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build"))
    parser.add_argument("--seeds", default="1..10", help="A..B, both included")
    parser.add_argument("--keep", help="folder for the files of failing seeds")
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--eval", action="store_true", help="also the evaluation, across ranks")
    parser.add_argument("--f32", action="store_true")
    parser.add_argument("--plain", action="store_true", help="no words of C as names")
    parser.add_argument("--optimize", default="-O0", help="for the C compiler")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--print", type=int, metavar="SEED")
    parser.add_argument("--model", help="a file to try instead of a made-up model")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.model = options.model and os.path.abspath(options.model)
    if options.print is not None:
        print(Models(options.print, options.plain).text(), end="")
        return 0
    first, _, last = options.seeds.partition("..")
    seeds = range(int(first), int(last or first) + 1)
    failed = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for seed, failure in pool.map(lambda s: try_seed(options, s), seeds):
            if failure:
                failed.append(seed)
                print(f"seed {seed}: {failure}", flush=True)
    print(f"random_models: {len(seeds) - len(failed)} passed, {len(failed)} failed" + (f": {failed}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
