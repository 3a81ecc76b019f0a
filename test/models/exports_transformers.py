# ===- exports_transformers.py - language, speech and vision models -----------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Models of Hugging Face's transformers, small ones of each architecture: encoders, decoders with
caches of keys and values, both together, state spaces, speech, images."""
import os

os.environ["HF_HUB_OFFLINE"] = "1"
import torch  # noqa: E402
import transformers as hf  # noqa: E402
from exports_torch import row  # noqa: E402

SIZES = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 128}
TEXT = {**SIZES, "vocab_size": 100, "max_position_embeddings": 64}
GROUPED = {**TEXT, "num_key_value_heads": 2}
BATCH, WORDS = {0: "batch"}, {0: "batch", 1: "length"}


class Named(torch.nn.Module):
    """A model whose operands have names, and whose results are those of `results`."""

    def __init__(self, model, operands, results, **fixed):
        super().__init__()
        self.model, self.operands, self.results, self.fixed = model, operands, results, fixed

    def forward(self, *values):
        made = self.model(**dict(zip(self.operands, values)), **self.fixed)
        kept = tuple(getattr(made, name) for name in self.results)
        return kept if len(kept) > 1 else kept[0]


class Decoder(torch.nn.Module):
    """One step: words, and keys and values of each layer; the logits, and longer keys and values."""

    def __init__(self, model, layers):
        super().__init__()
        self.model, self.layers = model, layers

    def forward(self, words, *keys_and_values):
        cache = hf.DynamicCache()
        for i in range(self.layers):
            cache.update(keys_and_values[2 * i], keys_and_values[2 * i + 1], i)
        made = self.model(input_ids=words, past_key_values=cache, use_cache=True)
        return (made.logits, *(t for layer in made.past_key_values.layers
                               for t in (layer.keys, layer.values)))


def words(batch, length=12):
    return torch.randint(1, 100, (batch, length))


def encoder(build, result="last_hidden_state"):
    return (lambda: Named(build(), ["input_ids", "attention_mask"], [result]),
            lambda b: (words(b), torch.ones(b, 12, dtype=torch.long)), (WORDS, WORDS))


def decoder(build, heads, width, layers=2, length=1, dynamic=BATCH):
    past = {0: "batch", 2: "past"}
    return (lambda: Decoder(build(), layers),
            lambda b: (words(b, length), *(torch.randn(b, heads, 7, width) for _ in range(2 * layers))),
            (dynamic, *([past] * (2 * layers))))


def prefill(build):
    return (lambda: Named(build(), ["input_ids", "attention_mask"], ["logits"], use_cache=False),
            lambda b: (words(b), torch.ones(b, 12, dtype=torch.long)), (WORDS, WORDS))


def pair(build, operand, shown, dynamic):
    """An encoder and a decoder."""
    return (lambda: Named(build(), [operand, "decoder_input_ids"], ["logits"], use_cache=False),
            lambda b: (shown(b), words(b, 5)), (dynamic, {0: "batch", 1: "words"}))


def images(build, results, size=64):
    return (lambda: Named(build(), ["pixel_values"], results),
            lambda b: (torch.randn(b, 3, size, size),), (BATCH,))


BART = {"vocab_size": 100, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 128,
        "decoder_ffn_dim": 128}
MODELS = {
    "bert": encoder(lambda: hf.BertModel(hf.BertConfig(**TEXT))),
    "roberta-classes": encoder(lambda: hf.RobertaForSequenceClassification(
        hf.RobertaConfig(**TEXT)), "logits"),
    "distilbert-words": encoder(lambda: hf.DistilBertForMaskedLM(hf.DistilBertConfig(
        vocab_size=100, dim=64, n_layers=2, n_heads=4, hidden_dim=128,
        max_position_embeddings=64)), "logits"),
    "deberta-v2": encoder(lambda: hf.DebertaV2Model(hf.DebertaV2Config(
        relative_attention=True, pos_att_type=["p2c", "c2p"], **TEXT))),
    "mpnet": encoder(lambda: hf.MPNetModel(hf.MPNetConfig(**TEXT))),
    "modernbert": encoder(lambda: hf.ModernBertModel(hf.ModernBertConfig(
        global_attn_every_n_layers=2, local_attention=8, pad_token_id=0, **TEXT))),
    "xlnet": encoder(lambda: hf.XLNetModel(hf.XLNetConfig(
        vocab_size=100, d_model=64, n_layer=2, n_head=4, d_inner=128))),
    "gpt2-cache": decoder(lambda: hf.GPT2LMHeadModel(hf.GPT2Config(
        vocab_size=100, n_embd=64, n_layer=2, n_head=4, n_positions=64)), 4, 16),
    "llama-cache": decoder(lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**GROUPED)), 2, 16),
    "qwen3-cache": decoder(lambda: hf.Qwen3ForCausalLM(hf.Qwen3Config(head_dim=16, **GROUPED)),
                           2, 16),
    "phi3-cache": decoder(lambda: hf.Phi3ForCausalLM(hf.Phi3Config(pad_token_id=0, **GROUPED)),
                          2, 16),
    "gemma2-cache": decoder(lambda: hf.Gemma2ForCausalLM(hf.Gemma2Config(
        head_dim=16, **GROUPED)), 2, 16),
    "bloom-cache": decoder(lambda: hf.BloomForCausalLM(hf.BloomConfig(
        vocab_size=100, hidden_size=64, n_layer=2, n_head=4)), 4, 16),
    "gemma3-prefill": prefill(lambda: hf.Gemma3ForCausalLM(hf.Gemma3TextConfig(
        head_dim=16, sliding_window=8, **GROUPED))),
    "mamba": prefill(lambda: hf.MambaForCausalLM(hf.MambaConfig(
        vocab_size=100, hidden_size=64, num_hidden_layers=2))),
    "t5": pair(lambda: hf.T5ForConditionalGeneration(hf.T5Config(
        vocab_size=100, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4)),
        "input_ids", words, WORDS),
    "bart": pair(lambda: hf.BartForConditionalGeneration(hf.BartConfig(
        max_position_embeddings=64, **BART)), "input_ids", words, WORDS),
    "whisper": pair(lambda: hf.WhisperForConditionalGeneration(hf.WhisperConfig(
        num_mel_bins=20, max_source_positions=50, max_target_positions=64, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, **BART)),
        "input_features", lambda b: torch.randn(b, 20, 100), BATCH),
    "wav2vec2": (lambda: Named(hf.Wav2Vec2ForCTC(hf.Wav2Vec2Config(
        conv_dim=(32,) * 7, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4,
        vocab_size=32, **SIZES)), ["input_values"], ["logits"]),
        lambda b: (torch.randn(b, 4000),), (BATCH,)),
    "segformer": images(lambda: hf.SegformerForSemanticSegmentation(hf.SegformerConfig(
        hidden_sizes=[16, 32, 64, 64], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4],
        decoder_hidden_size=32)), ["logits"]),
    "detr": images(lambda: hf.DetrForObjectDetection(hf.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
        backbone_config=hf.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 32, 64],
                                        depths=[1, 1, 1, 1], out_features=["stage4"]),
        d_model=64, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, num_queries=10)),
        ["logits", "pred_boxes"]),
    "dpt": images(lambda: hf.DPTForDepthEstimation(hf.DPTConfig(
        image_size=64, backbone_out_indices=[0, 1], neck_hidden_sizes=[16, 32],
        reassemble_factors=[2, 1], fusion_hidden_size=16, is_hybrid=False, **SIZES)),
        ["predicted_depth"]),
    "clip": (lambda: Named(hf.CLIPModel(hf.CLIPConfig(
        text_config={**TEXT, "eos_token_id": 99, "bos_token_id": 98, "pad_token_id": 0},
        vision_config={**SIZES, "image_size": 64, "patch_size": 16})),
        ["input_ids", "attention_mask", "pixel_values"], ["logits_per_image", "text_embeds"]),
        lambda b: (words(b), torch.ones(b, 12, dtype=torch.long), torch.randn(b, 3, 64, 64)),
        (WORDS, WORDS, BATCH)),
    "patchtst": (lambda: Named(hf.PatchTSTForPrediction(hf.PatchTSTConfig(
        num_input_channels=3, context_length=32, patch_length=8, stride=8, d_model=32,
        num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, prediction_length=8)),
        ["past_values"], ["prediction_outputs"]), lambda b: (torch.randn(b, 32, 3),), (BATCH,)),
    # Several words a step, as many as there are.
    "llama-words": decoder(lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**GROUPED)), 2, 16, length=3,
                           dynamic=WORDS),
    # One head of keys for all queries.
    "falcon-cache": decoder(lambda: hf.FalconForCausalLM(hf.FalconConfig(
        vocab_size=100, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        multi_query=True)), 1, 16),
    "opt-cache": decoder(lambda: hf.OPTForCausalLM(hf.OPTConfig(
        vocab_size=100, hidden_size=64, num_hidden_layers=2, ffn_dim=128, num_attention_heads=4,
        max_position_embeddings=64, word_embed_proj_dim=64)), 4, 16),
}
# What one exporter does not know, the other may.
WAYS = [(False, 17, True), (True, 18, True), (True, 23, True)]
ONLY = {"whisper": WAYS[1], "patchtst": WAYS[1], "t5": WAYS[0], "clip": WAYS[0],
        "llama-words": WAYS[0], "falcon-cache": WAYS[0], "opt-cache": WAYS[0]}
EXPORTS = [row(name, model, *ONLY.get(name, WAYS[i % len(WAYS)]))
           for i, (name, model) in enumerate(MODELS.items())]
