#!/usr/bin/python3
"""Words and tokens of texts, for sources `tokens(...)` and `lines(...)` of a model.

    words.py vocabulary TEXT... -o words.txt [--most 10000]    the most frequent words between blanks, one a line
    words.py tokens TEXT words.txt -o train.bin                the text as a file of tokens

A vocabulary begins with <pad>, <unk>, <s> and </s>, tokens 0 to 3. In a file of tokens every line ends with </s>, and words that
the vocabulary lacks are <unk>. It has the header of 256 words of the common training programs for GPT, and tokens of 16 bits,
or 32 for more than 65536 words. Standard library only.
"""

import argparse
import array
import collections
import os
import struct
import sys

FIRST = [b"<pad>", b"<unk>", b"<s>", b"</s>"]
UNKNOWN, END = FIRST.index(b"<unk>"), FIRST.index(b"</s>")


def write(path, pieces):
    """Under another name first, so that nothing is half-written."""
    partial = path + ".partial"
    with open(partial, "wb") as file:
        file.writelines(pieces)
    os.replace(partial, path)


def vocabulary(texts, path, most):
    counts = collections.Counter()
    for text in texts:
        with open(text, "rb") as file:
            for line in file:
                counts.update(line.split())
    if most <= len(FIRST):
        sys.exit(f"words.py: --most must be above {len(FIRST)}")
    common = sorted((word for word in counts if word not in FIRST), key=lambda word: (-counts[word], word))[:most - len(FIRST)]
    write(path, [word + b"\n" for word in FIRST + common])
    known = sum(counts[word] for word in common)
    print(f"{path}: {len(FIRST) + len(common)} words, {100 * known / max(1, counts.total()):.2f} % of the text")


def tokens(text, words, path):
    with open(words, "rb") as file:
        vocabulary = file.read().removesuffix(b"\n").split(b"\n")
    if vocabulary[:len(FIRST)] != FIRST:
        sys.exit(f"words.py: {words} does not begin with " + " ".join(word.decode() for word in FIRST))
    token = {}
    for i, word in enumerate(vocabulary):
        token.setdefault(word, i)
    short = len(vocabulary) <= 1 << 16
    ids = array.array("H" if short else "I")
    with open(text, "rb") as file:
        for line in file:
            ids.extend(token.get(word, UNKNOWN) for word in line.split())
            ids.append(END)
    if len(ids) >= 1 << 31:
        sys.exit(f"words.py: {text} has more tokens than the header can count")
    if sys.byteorder == "big":
        ids.byteswap()
    head = (20240520, 1) if short else (20240801, 7)
    write(path, [struct.pack("<256i", *head, len(ids), *[0] * 253), ids.tobytes()])
    print(f"{path}: {len(ids)} tokens, {ids.count(UNKNOWN)} of them <unk>")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("vocabulary")
    make.add_argument("texts", nargs="+", metavar="TEXT")
    make.add_argument("--most", type=int, default=10000)
    turn = commands.add_parser("tokens")
    turn.add_argument("text", metavar="TEXT")
    turn.add_argument("words", metavar="WORDS")
    for command in make, turn:
        command.add_argument("-o", dest="out", required=True, metavar="FILE")
    o = parser.parse_args()
    try:
        if o.command == "vocabulary":
            vocabulary(o.texts, o.out, o.most)
        else:
            tokens(o.text, o.words, o.out)
    except OSError as error:
        sys.exit(f"words.py: {error.filename}: {error.strerror}")


if __name__ == "__main__":
    main()
