"""range.py WEIR_RUN BOUNDED.so OPEN.so SAMPLES.npy FOLDER: runs both for every number of
rows that the bounds allow, on the first rows of the samples; results must be the same
bits. One row more must be refused."""
import os
import struct
import subprocess
import sys
import zipfile

tool, bounded, free, samples, folder = sys.argv[1:]
with open(samples, "rb") as file:
    raw = file.read()
data = raw[10 + struct.unpack("<H", raw[8:10])[0]:]
ROW = 64 * 4


def write(rows):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, 1, 8, 8), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    path = os.path.join(folder, "x.npy")
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(data[:rows * ROW])
    return path


def run(program, path, out):
    done = subprocess.run([tool, program, f"--input=image={path}", f"--output={out}", "--threads=2"],
                          capture_output=True, text=True)
    if done.returncode:
        return done.stderr
    with zipfile.ZipFile(out) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


out, same = os.path.join(folder, "y.npz"), 0
for rows in range(1, 65):
    path = write(rows)
    a, b = run(bounded, path, out), run(free, path, out)
    if a == b and isinstance(a, dict):
        same += 1
    else:
        print(rows, a if isinstance(a, str) else "differs")
print(f"{same} of 64 are the same")
print("65:", run(bounded, write(65), out))
