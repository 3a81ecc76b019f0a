#===- floats.py - models of f32 and their tensors in files -------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""What tests of generated code need to write a model and read its results: messages of
ONNX, and archives of NumPy's arrays."""
import array
import os
import random
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "digits"))
from wire import data, integer, packed  # noqa: E402

EPSILON = 2.0**-23


def count(shape):
    total = 1
    for size in shape:
        total *= size
    return total


def values(shape, seed):
    chosen = random.Random(seed)
    return array.array("f", (chosen.gauss(0, 1) for _ in range(count(shape))))


#: NumPy's types by those of arrays; bytes with a sign are booleans.
NUMPY = {"f": "<f4", "b": "|b1", "B": "|u1", "h": "<i2", "i": "<i4", "I": "<u4", "q": "<i8"}


def npy(shape, numbers):
    """`numbers`: an array of a type that NUMPY has."""
    kind = NUMPY[numbers.typecode]
    head = str({"descr": kind, "fortran_order": False, "shape": tuple(shape)})
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + numbers.tobytes()


def port(field, name, shape):
    # A size that is a name is open.
    dims = b"".join(data(1, data(2, size) if isinstance(size, str) else integer(1, size))
                    for size in shape)
    return data(field, data(1, name) + data(2, data(1, integer(1, 1) + data(2, dims))))


def node(operation, name, inputs, attributes=()):
    text = b"".join(data(1, operand) for operand in inputs) + data(2, name)
    text += data(3, name) + data(4, operation)
    for key, value in attributes:
        typed = (integer(3, value) + integer(20, 2) if isinstance(value, int)
                 else packed(8, value) + integer(20, 7))
        text += data(5, data(1, key) + typed)
    return data(1, text)


def constant(name, shape, floats, kind=1):
    """`floats`: an array of the elements' bytes; `kind`: their type, as ONNX numbers them."""
    return data(5, packed(1, shape) + integer(2, kind) + data(8, name) + data(9, floats.tobytes()))


def write_model(folder, graph):
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(integer(1, 8) + data(7, data(2, "model") + graph))
        file.write(data(8, data(1, "") + integer(2, 17)))


def write_inputs(folder, arrays):
    """`arrays`: name, shape and elements of each."""
    with zipfile.ZipFile(os.path.join(folder, "in.npz"), "w") as archive:
        for name, shape, floats in arrays:
            archive.writestr(name + ".npy", npy(shape, floats))


def read_output(folder, name, shape, typecode="f"):
    """Floats, or what `typecode` says (NUMPY)."""
    with zipfile.ZipFile(os.path.join(folder, "out.npz")) as archive:
        raw = archive.read(name + ".npy")
    numbers = array.array(typecode)
    numbers.frombytes(raw[len(raw) - numbers.itemsize * count(shape):])
    return numbers
