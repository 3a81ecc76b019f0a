#!/usr/bin/env python3
# ===- package_test.py - the Python package in a fresh environment ------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Installs the wheel into an environment of its own, and uses it there.

usage: package_test.py --wheels=FOLDER --digits=FOLDER [--inside]

Where the corpora are, ResNet-50 and a model that PyTorch exported run there in five lines, with
the results that weir-run (on the PATH) has, and those that were recorded. Where
WEIR_TORCH_PYTHON names a Python with torchvision, it exports a ResNet-50, which does the same.
"""

import argparse
import glob
import os
import subprocess
import sys
import venv

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import corpora  # noqa: E402

# A model of one input on a page.
FIVE_LINES = """
import sys, numpy, weir
feeds = numpy.load(sys.argv[2])
model = weir.compile(sys.argv[1])
result = model(*(feeds[name] for name in feeds.files))
numpy.save(sys.argv[3], result)
"""
# Compares that with results of a .npz: equal, or as near as another runtime's are.
COMPARE = """
import sys, numpy as np
got, want = np.load(sys.argv[1]), np.load(sys.argv[2])
want, = (want[key] for key in want.files)
near = got.shape == want.shape and np.allclose(got, want, 1e-3, 1e-4)
print("equal" if np.array_equal(got, want) else "near" if near else "differs")
"""
INPUTS = """
import sys, numpy as np
np.savez(sys.argv[1], **{"gpu_0/data_0": np.random.default_rng(5).normal(
    size=(1, 3, 224, 224)).astype(np.float32)})
"""
# Run by WEIR_TORCH_PYTHON: exports a ResNet-50 with random weights, an input, and its results.
EXPORT = """
import sys, numpy as np, torch, torchvision
torch.manual_seed(7)
model = torchvision.models.resnet50(weights=None).eval()
image = torch.randn(1, 3, 224, 224)
torch.onnx.export(model, (image,), "torch.onnx", input_names=["image"], dynamo=True)
np.savez("torch_in.npz", image=image.numpy())
with torch.no_grad():
    np.savez("torch_out.npz", y=model(image).numpy())
"""


def fresh(folder):
    """The Python of a new environment with NumPy and the wheel; None, with a reason."""
    try:
        venv.EnvBuilder(with_pip=True).create(folder)
    except Exception as error:
        return None, f"no environment with pip: {error}"
    python = os.path.join(folder, "bin", "python")
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-input",
                           "--disable-pip-version-check", "--timeout=10", "--retries=1", "numpy"],
                          capture_output=True, text=True)
    if done.returncode:
        return None, "pip finds no NumPy"
    return python, ""


def inside(digits):
    """What runs in the fresh environment."""
    import threading

    import numpy as np
    import weir

    folder = os.getcwd()
    images = np.load(os.path.join(digits, "samples.npy"))
    wanted = np.load(os.path.join(digits, "probabilities.npy"))

    def close(got, want):
        assert got.dtype == np.float32 and got.shape == want.shape, (got.dtype, got.shape)
        assert np.abs(got - want).max() < 1e-5

    library = os.path.join(folder, "digits.so")
    program = weir.compile(os.path.join(digits, "digits.onnx"), output=library, cpu="x86-64-v3")
    close(program(images), wanted)
    again = weir.load(library, threads=1)
    entry = again.default
    assert [t.name for t in entry.inputs] == ["image"], entry.inputs
    assert entry.inputs[0].shape == (None, 1, 8, 8) and entry.inputs[0].dtype == "f32"
    close(again(image=images[:7]), wanted[:7])
    close(again(np.asfortranarray(images)), wanted)
    close(again(images.tolist()), wanted)
    close(again.run_async(images).result(), wanted)
    close(entry.run(images, timeout=60), wanted)
    results, events = entry.trace(images[:1])
    close(results, wanted[:1])
    assert {"run", "kernel"} <= {event["kind"] for event in events}
    assert all(event["begin"] <= event["end"] for event in events)
    fixed = weir.compile(os.path.join(digits, "digits.onnx"), dims={"N": 2})
    close(fixed(images[:2]), wanted[:2])

    class Lent:
        """Memory by DLPack alone, as another library would lend it."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **arguments):
            return self.array.__dlpack__(**arguments)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    close(again(Lent(images)), wanted)

    def refused(code, call):
        try:
            call()
        except weir.Error as error:
            assert error.code == code, error
            return str(error)
        raise AssertionError("no error")

    assert "image" in refused(weir.Code.INVALID_ARGUMENT, lambda: again(images[:, :, :7]))
    refused(weir.Code.INVALID_ARGUMENT, lambda: again(images.astype(np.float64)))
    refused(weir.Code.DEADLINE_EXCEEDED, lambda: entry.run(images, timeout=1e-9))
    refused(weir.Code.INVALID_ARGUMENT, lambda: weir.compile(b"no model"))
    refused(weir.Code.NOT_FOUND, lambda: weir.load(os.path.join(folder, "none.so")))
    for wrong in (lambda: again(), lambda: again(images, images), lambda: again(picture=images)):
        try:
            wrong()
        except TypeError:
            continue
        raise AssertionError("a wrong call was taken")

    failures = []

    def serve():
        try:
            for _ in range(50):
                close(again(images[:3]), wanted[:3])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=serve) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    assert again.memory()["peak_in_use"] > 0
    again.close()
    refused(weir.Code.INVALID_ARGUMENT, lambda: again(images))
    variables(weir, np, folder)
    outputs_in_place(weir, np, folder)
    open_outputs_in_place(weir, np, folder)
    print("ok")


COUNTER = """
node { name: "v" op: "VarHandleOp"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 2 } } } }
  attr { key: "shared_name" value { s: "v" } } }
node { name: "x" op: "Placeholder"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 2 } } } } }
node { name: "add" op: "AssignAddVariableOp" input: "v" input: "x"
  attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "ReadVariableOp" input: "v" input: "^add"
  attr { key: "dtype" value { type: DT_FLOAT } } }
"""


def variables(weir, np, folder):
    """Variables, and checkpoints of them."""
    path = os.path.join(folder, "counter.pbtxt")
    with open(path, "w") as file:
        file.write(COUNTER)
    program = weir.compile(path, options=["--feed=x:0=x", "--fetch=y:0=y"])
    one = np.ones(2, np.float32)
    program.variables["v"] = 2 * one
    assert list(program.variables) == ["v"] and (program(one) == 3).all()
    program.save(os.path.join(folder, "kept"))
    assert (program(one) == 4).all() and (program.variables["v"] == 4).all()
    program.restore(os.path.join(folder, "kept"))
    assert (program.variables["v"] == 3).all()


UPDATED = """
node { name: "x" op: "Placeholder"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 4 } } } } }
node { name: "new" op: "Placeholder"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 1 } } } } }
node { name: "at" op: "Placeholder"
  attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "shape" value { shape { dim { size: 1 } dim { size: 1 } } } } }
node { name: "y" op: "TensorScatterUpdate" input: "x" input: "at" input: "new"
  attr { key: "Tindices" value { type: DT_INT32 } }
  attr { key: "T" value { type: DT_FLOAT } } }
node { name: "z" op: "Neg" input: "y" attr { key: "T" value { type: DT_FLOAT } } }
"""


def outputs_in_place(weir, np, folder):
    """Outputs in the caller's arrays, and in that of an input."""
    path = os.path.join(folder, "updated.pbtxt")
    with open(path, "w") as file:
        file.write(UPDATED)
    names = [f"--feed={name}:0={name}" for name in ("x", "new", "at")]
    program = weir.compile(path, options=names + ["--fetch=y:0=y", "--fetch=z:0=z"])
    entry = program.default
    assert [output.over for output in entry.outputs] == ["x", None]
    x, new, at = np.arange(4, dtype=np.float32), np.full(1, 9, np.float32), np.array([[2]], np.int32)
    wanted = np.array([0, 1, 9, 3], np.float32)
    apart, negative = np.empty(4, np.float32), np.empty(4, np.float32)
    result = entry.run(x, new, at, out={"y": apart, "z": negative})
    assert result.y is apart and result.z is negative
    assert (apart == wanted).all() and (negative == -wanted).all() and x[2] == 2
    result = entry.run(x, new, at, out={"y": x})
    assert result.y is x and (x == wanted).all() and (result.z == -wanted).all()

    def refused(kind, text, out, given=x):
        try:
            entry.run(given, new, at, out=out)
        except kind as error:
            assert text in str(error), error
        else:
            raise AssertionError(f"{out} is taken")

    whole = np.zeros(8, np.float32)
    refused(ValueError, "output 'z': found the memory of input 'x'", {"z": x})
    refused(ValueError, "output 'y': found the memory of input 'x'", {"y": whole[1:5]}, whole[:4])
    refused(ValueError, "output 'y': found the memory of input 'x'", {"y": whole[:4]}, whole[1:5])
    refused(ValueError, "found the memory of output", {"y": apart, "z": apart})
    refused(TypeError, "expected a contiguous array", {"y": whole[::2]})
    refused(TypeError, "found output 'w'", {"w": apart})
    refused(TypeError, "expected arrays by outputs' names", [apart])


JOINED = UPDATED.replace("dim { size: 4 }", "dim { size: -1 }").replace(
    'input: "x" input: "at"', 'input: "long" input: "at"') + """
node { name: "more" op: "Placeholder"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: -1 } } } } }
node { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } }
node { name: "long" op: "ConcatV2" input: "x" input: "more" input: "axis"
  attr { key: "N" value { i: 2 } } attr { key: "T" value { type: DT_FLOAT } } }
"""


def open_outputs_in_place(weir, np, folder):
    """Outputs of open size in the caller's arrays, where they fit."""
    path = os.path.join(folder, "joined.pbtxt")
    with open(path, "w") as file:
        file.write(JOINED)
    names = [f"--feed={name}:0={name}" for name in ("x", "more", "new", "at")]
    entry = weir.compile(path, options=names + ["--fetch=y:0=y"]).default
    assert entry.outputs[0].over == "x" and entry.outputs[0].shape == (None,)
    x, none, new = np.arange(4, dtype=np.float32), np.empty(0, np.float32), np.full(1, 9, np.float32)
    at, wanted = np.array([[2]], np.int32), np.array([0, 1, 9, 3], np.float32)
    result = entry.run(x, none, new, at, out={"y": x})
    assert result is x and (x == wanted).all()
    large = np.zeros(7, np.float32)
    result = entry.run(x, none, new, at, out={"y": large})
    assert result.shape == (4,) and result.base is large and (large[:4] == wanted).all()
    result = entry.run(x, new, new, at, out={"y": x})
    assert not np.shares_memory(result, x) and (result == np.append(wanted, 9)).all()
    for wrong in (np.zeros((2, 2), np.float32), np.zeros(4)):
        try:
            entry.run(x, none, new, at, out={"y": wrong})
        except TypeError as error:
            assert "expected a contiguous array" in str(error), error
        else:
            raise AssertionError(f"{wrong} is taken")


class Models:
    """Runs models in the fresh environment, each in five lines."""

    def __init__(self, python, folder):
        self.python, self.folder = python, folder

    def run(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder)
        if done.returncode:
            sys.exit(f"{' '.join(command)[:200]}\n{done.stdout}{done.stderr}"[-3000:])
        return done.stdout

    def compare(self, model, feeds, want):
        self.run(self.python, "-c", FIVE_LINES, model, feeds, "result.npy")
        return self.run(self.python, "-c", COMPARE, "result.npy", want).strip()

    def of_corpora(self):
        """How near they are, by name."""
        base = corpora.found()
        if not base:
            return {}
        public = os.path.join(base, "public", "onnx", "hf-wav2vec2-dynamic")
        resnet = os.path.join(base, "onnx", "light", "light_resnet50.onnx")
        self.run(self.python, "-c", INPUTS, "image.npz")
        self.run("weir-run", resnet, "--input=image.npz", "--output=want.npz")
        bits = self.compare(resnet, "image.npz", "want.npz")
        return {"wav2vec2": self.compare(public + ".onnx", public + ".io/inputs.npz",
                                         public + ".io/outputs.npz"),
                "ResNet-50": "equal" if bits == "equal" else "differs"}

    def of_pytorch(self):
        exporter = os.environ.get("WEIR_TORCH_PYTHON")
        if not exporter:
            return {}
        self.run(exporter, "-W", "ignore", "-c", EXPORT)
        return {"torchvision": self.compare("torch.onnx", "torch_in.npz", "torch_out.npz")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--wheels", required=True)
    parser.add_argument("--digits", required=True)
    parser.add_argument("--inside", action="store_true")
    arguments = parser.parse_args()
    if arguments.inside:
        return inside(arguments.digits)
    python, why = fresh(os.path.join(arguments.wheels, "environment"))
    if not python:
        return print("skipped:", why)
    wheel, = glob.glob(os.path.join(arguments.wheels, "weir-*.whl"))
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
                    "--disable-pip-version-check", wheel], check=True)
    example = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs",
                           "examples", "classify.py")
    done = subprocess.run([python, example, os.path.join(arguments.digits, "digits.onnx"),
                           os.path.join(arguments.digits, "samples.npy")], cwd=arguments.wheels,
                          check=True, capture_output=True, text=True)
    assert "first digits: [" in done.stdout, done.stdout
    models = Models(python, arguments.wheels)
    if "differs" in (found := {**models.of_corpora(), **models.of_pytorch()}).values():
        sys.exit(f"results: {found}")
    return sys.exit(subprocess.run(
        [python, os.path.abspath(__file__), "--wheels=" + arguments.wheels,
         "--digits=" + arguments.digits, "--inside"], cwd=arguments.wheels).returncode)


if __name__ == "__main__":
    main()
