#!/usr/bin/env python3
# ===- decode_four_bits.py - a token of the four-bit decoder, in turn ---------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Times a token of four_bit_decoder.py's model behind others, in turn with ONNX Runtime and
llama.cpp, caches in place in all three.

usage: decode_four_bits.py MODEL.onnx [--gguf=MODEL.gguf] [--past=128] [--capacity=256] [--threads=1] [--rounds=9]

--capacity is the caches' where the model leaves it open.

Needs the weir package (docs/python.md), numpy and onnxruntime; llama-cpp-python for --gguf,
whose source pip builds for this processor. Prints medians and least times of rounds of four
tokens, and how far logits are from ONNX Runtime's, whose caches hold the same numbers.
"""
import argparse
import os
import statistics
import tempfile
import time

import numpy as np
import onnxruntime
import weir

TOKEN, TOKENS_OF_ROUND, PAUSE = 17, 4, 0.1


def start_ort(path, feeds, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array.copy())
              for name, array in feeds.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    binding.bind_output("logits")
    for name in values:
        if name.startswith("past_"):
            binding.bind_ortvalue_output(name.replace("past_", "present_"), values[name])

    def run():
        session.run_with_iobinding(binding)
        return binding.get_outputs()[0].numpy()

    return run, "ONNX Runtime " + onnxruntime.__version__


def start_weir(path, feeds, threads):
    with tempfile.TemporaryDirectory() as folder:
        program = weir.compile(path, output=os.path.join(folder, "decoder.so"), threads=threads)
    entry, = program.entries.values()
    own = {name: array.copy() for name, array in feeds.items()}
    out = {output.name: own[output.over] for output in entry.outputs if output.over}
    assert len(out) == len(own) - 2, "a cache that is not updated in place"
    return lambda: entry.run(out=out, **own)[0], "weir " + weir.__version__


def start_llama(path, past, capacity, threads):
    import llama_cpp

    model = llama_cpp.Llama(path, n_ctx=capacity, n_threads=threads, n_threads_batch=threads,
                            verbose=False, n_gpu_layers=0)
    model.eval([i % 300 for i in range(past)])

    def run():
        model.n_tokens = past
        model.eval([TOKEN])

    return run, "llama.cpp by llama-cpp-python " + llama_cpp.__version__


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--gguf")
    parser.add_argument("--past", type=int, default=128)
    parser.add_argument("--capacity", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()

    inputs = onnxruntime.InferenceSession(options.model, providers=["CPUExecutionProvider"]).get_inputs()
    random, feeds = np.random.default_rng(0), {}
    for value in inputs:
        if value.name == "input_ids":
            feeds[value.name] = np.array([[TOKEN]], np.int64)
        elif value.name == "attention_mask":
            size = value.shape[1] if isinstance(value.shape[1], int) else options.past + 1
            feeds[value.name] = (np.arange(size)[None] <= options.past).astype(np.int64)
        else:
            shape = [size if isinstance(size, int) else known
                     for size, known in zip(value.shape, (1, 0, options.capacity, 0))]
            capacity = shape[2]
            feeds[value.name] = random.standard_normal(shape).astype(np.float32)
            feeds[value.name][:, :, options.past:] = 0

    engines = [start_weir(options.model, feeds, options.threads),
               start_ort(options.model, feeds, options.threads)]
    ours, theirs = engines[0][0](), engines[1][0]()
    if options.gguf:
        engines.append(start_llama(options.gguf, options.past, capacity, options.threads))
    times = [[] for _ in engines]
    for _ in range(options.rounds):
        for (run, _), own in zip(engines, times):
            # Threads of the engine before may still look for work.
            time.sleep(PAUSE)
            run()
            begin = time.perf_counter()
            for _ in range(TOKENS_OF_ROUND):
                run()
            own.append((time.perf_counter() - begin) / TOKENS_OF_ROUND * 1e3)
    print(f"a token behind {options.past} of {capacity}, {options.threads} thread(s): logits up to "
          f"{np.abs(theirs).max():.3g} are at most {np.abs(ours - theirs).max():.2g} apart")
    for (_, name), own in zip(engines, times):
        median = statistics.median(own)
        print(f"  {name}: {median:.2f} ms, least {min(own):.2f}; "
              f"weir/this={statistics.median(times[0]) / median:.3f}")


if __name__ == "__main__":
    main()
