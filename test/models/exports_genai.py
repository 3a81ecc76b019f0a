# ===- exports_genai.py - decoders as ONNX Runtime's model builder writes them -===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Small decoders of Hugging Face's transformers, which the model builder of onnxruntime-genai turns
into graphs of com.microsoft's operators: caches that grow and caches of a window, experts, linear
attention. Results are held against ONNX Runtime's on the same file: a prompt, a prompt of two
sequences, and a step behind a prompt.

  exports_genai.py FAMILY PRECISION [--wide] [--past=N] [--threads=N] [--weir-run=PATH] [KEY=VALUE…]

times one in turn with ONNX Runtime: a token, four sequences' tokens, a prompt of 128. `--wide`: four
layers of 1,024. KEY=VALUE are options of the builder."""
import argparse
import json
import os
import subprocess
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
import onnxruntime_genai  # noqa: E402,F401 (what is left out without it)
import tokenizers  # noqa: E402
import torch  # noqa: E402
import transformers as hf  # noqa: E402

WIDE = "--wide" in sys.argv
WORDS, HIDDEN, LAYERS, INNER, HEADS, KEY_HEADS, SIZE, WINDOW = (
    (8000, 1024, 4, 2816, 16, 4, 64, 8) if WIDE else (320, 64, 2, 128, 4, 2, 16, 8))
PAST, LENGTH = 9, 10
COMMON = {"vocab_size": WORDS, "hidden_size": HIDDEN, "num_hidden_layers": LAYERS,
          "intermediate_size": INNER, "num_attention_heads": HEADS,
          "num_key_value_heads": KEY_HEADS, "max_position_embeddings": 4096, "bos_token_id": 1,
          "eos_token_id": 2, "pad_token_id": 0}
HEAD, EXPERTS = {"head_dim": SIZE}, {"num_experts": 4, "num_experts_per_tok": 2}
ROPE = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5,
        "mrope_section": [SIZE // 8, SIZE // 16, SIZE // 16], "mrope_interleaved": True}
LINEAR = {**COMMON, **HEAD, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
          "linear_key_head_dim": 16, "linear_value_head_dim": 16, "rope_parameters": ROPE,
          "layer_types": ["linear_attention", "full_attention"] * (LAYERS // 2)}
VISION = {"depth": 1, "hidden_size": 32, "num_heads": 2, "intermediate_size": 64,
          "out_hidden_size": HIDDEN}
YARN = {"rope_type": "yarn", "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
        "original_max_position_embeddings": 4096}
CONVOLVED = {"layer_types": ["conv", "full_attention"] * (LAYERS // 2)}

# Class of the model, of its configuration, and what that has beside COMMON.
FAMILIES = {
    "llama": ("LlamaForCausalLM", "LlamaConfig", {}),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", {}),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", {**HEAD, "tie_word_embeddings": True}),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config",
               {**HEAD, "sliding_window": WINDOW, "query_pre_attn_scalar": SIZE}),
    "phi3": ("Phi3ForCausalLM", "Phi3Config", {"original_max_position_embeddings": 4096}),
    "gptoss": ("GptOssForCausalLM", "GptOssConfig",
               {**HEAD, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": WINDOW,
                "max_position_embeddings": 16384, "rope_scaling": YARN}),
    "granite": ("GraniteForCausalLM", "GraniteConfig",
                {"residual_multiplier": 0.5, "attention_multiplier": 0.2}),
    "hunyuan": ("HunYuanDenseV1ForCausalLM", "HunYuanDenseV1Config", HEAD),
    "lfm2": ("Lfm2ForCausalLM", "Lfm2Config", CONVOLVED),
    "lfm2moe": ("Lfm2MoeForCausalLM", "Lfm2MoeConfig",
                {**CONVOLVED, **EXPERTS, "moe_intermediate_size": INNER // 2, "num_dense_layers": 1}),
    "qwen35": ("Qwen3_5ForConditionalGeneration", "Qwen3_5Config",
               {"text_config": LINEAR, "vision_config": VISION}),
    "qwen35moe": ("Qwen3_5MoeForConditionalGeneration", "Qwen3_5MoeConfig",
                  {"text_config": {**LINEAR, **EXPERTS, "moe_intermediate_size": INNER // 2,
                                   "shared_expert_intermediate_size": INNER // 2},
                   "vision_config": VISION}),
}


def checkpoint(family, folder):
    """The model, with random weights, as its library saves it."""
    model, config, own = FAMILIES[family]
    given = own if "text_config" in own else {**COMMON, **own}
    torch.manual_seed(3)
    made = getattr(hf, model)(getattr(hf, config)(**given))
    with torch.no_grad():
        for weights in made.parameters():
            if weights.dim() > 1:
                weights.normal_(0, 0.5 / weights.shape[-1] ** 0.5)
            else:
                weights.add_(torch.randn_like(weights) * 0.05)
    made.save_pretrained(folder)
    names = ["<unk>", "<s>", "</s>"] + ["w%d" % i for i in range(3, WORDS)]
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(
        {name: i for i, name in enumerate(names)}, unk_token="<unk>"))
    hf.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", bos_token="<s>",
                               eos_token="</s>", pad_token="<unk>").save_pretrained(folder)
    if "original_max_position_embeddings" in own:  # which the configuration's class drops
        path = os.path.join(folder, "config.json")
        with open(path) as file:
            written = json.load(file)
        with open(path, "w") as file:
            json.dump({**written, **own}, file)


def built(family, precision, folder, **options):
    """The path of the graph that the builder writes."""
    source, out = os.path.join(folder, "checkpoint"), os.path.join(folder, "built")
    checkpoint(family, source)
    command = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", source, "-o", out,
               "-p", precision, "-e", "cpu", "-c", os.path.join(folder, "cache")]
    if options:
        command += ["--extra_options"] + ["%s=%s" % item for item in options.items()]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return os.path.join(out, "model.onnx")


def feeds(inputs, batch, length, past, random):
    """Operands for `length` words of each sequence behind `past` others."""
    sizes = {"batch_size": batch, "sequence_length": length, "past_sequence_length": past,
             "total_sequence_length": past + length, "kv_cache_dim": SIZE,
             "past_sliding_length": WINDOW}
    made = {}
    for one in inputs:
        shape = [d if isinstance(d, int) else sizes[d] for d in one.shape]
        if one.name == "input_ids":
            made[one.name] = random.integers(3, WORDS, shape)
        elif "mask" in one.name:
            made[one.name] = np.ones(shape, np.int64)
        elif one.name == "position_ids":
            made[one.name] = np.broadcast_to(np.arange(past, past + length), shape).copy()
        else:
            made[one.name] = (random.standard_normal(shape) * 0.3).astype(np.float32)
    return made


def row(family, precision, way, **options):
    def make(path):
        graph = built(family, precision, path + ".genai", **options)
        session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
        random = np.random.default_rng(5)
        cases = [feeds(session.get_inputs(), *sizes, random)
                 for sizes in ((1, LENGTH, 0), (2, LENGTH, 0), (2, 1, PAST), (1, 1, PAST))]
        names = [one.name for one in session.get_outputs()]
        return graph, cases, lambda case: dict(zip(names, session.run(None, case)))
    return family, way, make


# Four bits with rows of f32: with bytes two right results may be a rounding of an operand apart.
EXACT = {"accuracy_level": 1}
EXPORTS = [row(family, "fp32", "builder") for family in FAMILIES]
EXPORTS += [row(family, "int4", "builder-int4", **EXACT)
            for family in ("llama", "qwen3", "gemma2", "phi3", "lfm2", "lfm2moe", "qwen35")]
EXPORTS += [row("qwen3", "int4", "builder-int4-shared", shared_embeddings="true", **EXACT),
            row("llama", "int4", "builder-int4-mixed", algo_config="k_quant_mixed", **EXACT)]


def main():
    import exports
    import real_models
    import tempfile
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", choices=sorted(FAMILIES))
    parser.add_argument("precision", choices=["fp32", "fp16", "int4", "int8"])
    parser.add_argument("options", nargs="*")
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--past", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--weir-run", default="weir-run")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        graph = built(given.family, given.precision, folder,
                      **dict(option.split("=", 1) for option in given.options))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = given.threads
        session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        random = np.random.default_rng(5)
        for what, sizes in (("a token", (1, 1, given.past)), ("of four", (4, 1, given.past)),
                            ("128 tokens", (1, 128, 0))):
            case = feeds(session.get_inputs(), *sizes, random)
            rounds = [(real_models.weir(given.weir_run, graph, case, folder, 20,
                                        ["--threads=%d" % given.threads])[2],
                       exports.shortest(lambda: session.run(None, case))) for _ in range(3)]
            own, theirs = (min(times) for times in zip(*rounds))
            print("%-12s weir %.2f ms, ONNX Runtime %.2f, %.2f" % (what, own, theirs, own / theirs))


if __name__ == "__main__":
    main()
