# ===- exports_architectures.py - architectures of transformers, each ---------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Every architecture that Hugging Face's transformers builds from a configuration and that takes words,
images, spectra or sound alone: a small one of two to four layers, its sizes set by the names of the configuration's
fields, random weights. A model of several towers is tried by its towers, which are architectures of their own."""
import inspect
import os

os.environ["HF_HUB_OFFLINE"] = "1"
import torch  # noqa: E402
from exports_torch import row  # noqa: E402
from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: E402
from transformers.models.auto.modeling_auto import MODEL_MAPPING, MODEL_MAPPING_NAMES  # noqa: E402

LENGTH, BATCH, WORDS = 12, {0: "batch"}, {0: "batch", 1: "length"}
SMALL = {
    64: "hidden_size d_model n_embd dim embedding_size max_position_embeddings n_positions max_source_positions "
        "max_target_positions decoder_hidden_size projector_hidden_size embed_dim emb_dim hidden_dim "
        "encoder_hidden_dim lstm_hidden linear_attn_hidden image_size",
    128: "vocab_size intermediate_size encoder_ffn_dim decoder_ffn_dim d_ff n_inner ffn_dim ffn_hidden_size d_inner "
         "encoder_intermediate_size",
    4: "num_attention_heads n_head encoder_attention_heads decoder_attention_heads n_heads num_experts "
       "n_routed_experts num_local_experts linear_num_value_heads index_n_heads num_encoder_heads "
       "attention_heads",
    2: "num_layers n_layer n_layers encoder_layers decoder_layers num_decoder_layers num_encoder_layers depth "
       "num_key_value_heads num_kv_heads num_experts_per_tok linear_num_key_heads n_group num_entity_layers type_vocab_size",
    3: "num_hidden_layers",
    16: "head_dim d_kv qk_rope_head_dim qk_nope_head_dim v_head_dim qk_head_dim kv_lora_rank index_head_dim "
        "linear_key_head_dim linear_value_head_dim attention_head_dim attention_key_size attention_value_size mamba_d_head "
        "num_conv_pos_embeddings num_mel_bins projection_dim moe_intermediate_size shared_expert_intermediate_size",
    32: "q_lora_rank num_queries classifier_proj_size",
    8: "sliding_window index_topk mamba_d_state state_size ssm_state_size",
    1: "topk_group first_k_dense_replace",
}
SIZES = {name: size for size, names in SMALL.items() for name in names.split()}


def fields(kind):
    """The sizes of a configuration, and of those in it."""
    known, made = kind(), {}
    for name, value in known.to_dict().items():
        inner = getattr(known, name, None)
        if name in SIZES and isinstance(value, int) and not isinstance(value, bool) and value > SIZES[name]:
            made[name] = SIZES[name]
        elif name.endswith("_token_id") and isinstance(value, int) and value >= 100:
            made[name] = 3
        elif isinstance(value, dict) and hasattr(inner, "to_dict") and name in getattr(kind, "sub_configs", {}):
            made[name] = {**fields(type(inner)), "model_type": inner.model_type}
    return made


def floats(made):
    made = made.to_tuple() if hasattr(made, "to_tuple") else made
    if isinstance(made, (tuple, list)):
        return [tensor for part in made for tensor in floats(part)]
    return [made] if isinstance(made, torch.Tensor) and made.is_floating_point() else []


class Results(torch.nn.Module):
    """A model whose results are the tensors of floating point of what it gives."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names
        self.fixed = {"use_cache": False} if "use_cache" in inspect.signature(model.forward).parameters else {}

    def forward(self, *operands):
        return tuple(floats(self.model(**dict(zip(self.names, operands)), **self.fixed)))


def sizes_of_image(config):
    size = getattr(config, "image_size", 64)
    size = size if isinstance(size, (list, tuple)) else (size, size)
    return (getattr(config, "num_channels", 3), *size)


def draws(name, config):
    """What an operand of that name is: a function of the batch, and its open dimensions."""
    if name in ("input_ids", "decoder_input_ids"):
        return lambda b: torch.randint(4, 100, (b, LENGTH)), WORDS
    if name == "attention_mask":
        return lambda b: torch.ones(b, LENGTH, dtype=torch.long), WORDS
    if name == "pixel_values":
        return lambda b: torch.rand(b, *sizes_of_image(config)), BATCH
    if name == "input_features":
        bins = next((getattr(config, n) for n in ("num_mel_bins", "feature_size", "input_feat_per_channel",
                                                  "num_features") if hasattr(config, n)), 80)
        return lambda b: torch.randn(b, 2 * getattr(config, "max_source_positions", 50), bins), BATCH
    if name == "input_values":
        return lambda b: torch.randn(b, 4000), BATCH
    raise RuntimeError("no operand is known for " + name)


def architecture(kind):
    configured = CONFIG_MAPPING[kind]
    model_class = MODEL_MAPPING[configured]
    model_class = model_class[0] if isinstance(model_class, tuple) else model_class
    taken = inspect.signature(model_class.forward).parameters
    first = getattr(model_class, "main_input_name", "input_ids")
    names = [first] + [n for n in ("attention_mask", "decoder_input_ids") if n in taken and first == "input_ids"]
    config = configured(**fields(configured))
    config._experts_implementation = "batched_mm"  # exporters know no grouped products
    drawn = [draws(n, config) for n in names]
    return (lambda: Results(model_class(config), names), lambda b: tuple(draw(b) for draw, _ in drawn),
            tuple(axes for _, axes in drawn))


SCRIPT, DYNAMO = (False, 17, True), (True, 18, True)
WAYS = [SCRIPT, DYNAMO, (True, 23, True)]
# What the one exporter does not know, or writes another model for.
ONLY = {SCRIPT: """doge falcon inkling_text longformer parakeet_encoder prophetnet t5 umt5 wav2vec2-conformer
xlnet""".split(), DYNAMO: """afmoe apertus aya_vision cohere cohere2_vision dinov2_with_registers ernie4_5_moe
glm4 hy_v4 omniasr paligemma rwkv""".split()}
# The files of both exporters compute something else than the module: ONNX Runtime says what.
BY_RUNTIME = "afmoe hy_v4 paligemma".split()
# Hides parts of an image at random; keeps the batch that the exporter saw.
LEFT_OUT = "vit_mae pixtral".split()


def exported(kind, way):
    """A model is made when it is exported: what fails there is no row."""
    way = next((only for only, kinds in ONLY.items() if kind in kinds), way)
    by_runtime = kind in BY_RUNTIME
    name, said, _ = row(kind, None, *way, by_runtime)
    return name, said, lambda path: row(kind, architecture(kind), *way, by_runtime)[2](path)


EXPORTS = [exported(kind, WAYS[i % len(WAYS)]) for i, kind in enumerate(MODEL_MAPPING_NAMES) if kind not in LEFT_OUT]
