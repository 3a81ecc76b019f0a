"""Makes and reads .npz files of f32 arrays (as a module of f64, and reads f16, too), with nothing but the standard library.

npz.py rename IN.npz OUT.npz OLD=NEW...   the same arrays under other keys
npz.py damage IN.npz OUT.npz              the first value of every array plus one
npz.py ramp OUT.npz KEY DIMS...           i / n, e.g. `image 2x1x8x8`; more keys follow
npz.py print IN.npz                       key, shape, sum
"""
import io
import math
import re
import struct
import sys
import zipfile


def read(path):
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            size = struct.unpack("<H", data[8:10])[0]
            header = data[10:10 + size].decode()
            letter = {"<f2": "e", "<f4": "f", "<f8": "d", "<i8": "q"}[re.search(r"'descr': '([^']*)'", header)[1]]
            shape = [int(d) for d in re.findall(r"\d+", re.search(r"'shape': \(([^)]*)\)", header)[1])]
            values = [v for (v,) in struct.iter_unpack("<" + letter, data[10 + size:])]
            arrays[name[:-len(".npy")]] = (shape, values)
    return arrays


def write(path, arrays, letter="f"):
    kind = {"f": "<f4", "d": "<f8"}[letter]
    with zipfile.ZipFile(path, "w") as archive:
        for name, (shape, values) in arrays.items():
            dims = "(" + "".join(f"{d}, " for d in shape) + ")"
            header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {dims}, }}".ljust(117) + "\n"
            out = io.BytesIO()
            out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
            out.write(struct.pack(f"<{len(values)}{letter}", *values))
            archive.writestr(name + ".npy", out.getvalue())


def main():
    command, arguments = sys.argv[1], sys.argv[2:]
    if command == "rename":
        names = dict(pair.split("=") for pair in arguments[2:])
        write(arguments[1], {names.get(k, k): v for k, v in read(arguments[0]).items()})
    elif command == "damage":
        write(arguments[1], {k: (s, [v[0] + 1] + v[1:]) for k, (s, v) in read(arguments[0]).items()})
    elif command == "ramp":
        arrays = {}
        for key, dims in zip(arguments[1::2], arguments[2::2]):
            shape = [int(d) for d in dims.split("x")]
            count = math.prod(shape)
            arrays[key] = (shape, [i / count for i in range(count)])
        write(arguments[0], arrays)
    else:
        for key, (shape, values) in read(arguments[0]).items():
            print(key, "x".join(map(str, shape)), round(sum(values), 4))


if __name__ == "__main__":
    main()
