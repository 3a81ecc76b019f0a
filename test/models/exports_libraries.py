# ===- exports_libraries.py - models of libraries over PyTorch ----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Networks and transformations of libraries that are built on PyTorch: diffusion, segmentation, medicine,
classical vision, graphs, reinforcement learning, sound, tables, reading. Small, of random weights."""
import importlib

import torch
from exports_torch import row
from torch import nn

BATCH = {0: "batch"}
SCRIPT, DYNAMO = (False, 17, True), (True, 18, True)


class Lazy:
    """A library that is imported when one of its models is made."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, member):
        return getattr(importlib.import_module(self.name), member)


class Part(nn.Module):
    """`take` of what a call of the module, or a function of tensors, gives."""

    def __init__(self, module, take=lambda y: y, call=None):
        super().__init__()
        self.module = module if isinstance(module, nn.Module) else None
        self.call, self.take = call or module, take

    def forward(self, *operands):
        return self.take(self.call(*operands))


def part(make, take=lambda y: y, call=None):
    """Makes a module; `call`, given, is a function of that and the operands."""
    def build():
        module = make()
        return Part(module, take, (lambda *x: call(module, *x)) if call else None)
    return build


def function(call):
    return lambda: Part(call)


def spec(build, operands, *axes):
    """axes: of each operand; the first is that of those which are left out, too."""
    count = len(operands(2))
    return build, operands, tuple(axes) + (axes[0],) * (count - len(axes))


diffusers = Lazy("diffusers")
BLOCK = {"layers_per_block": 1, "norm_num_groups": 8}
NOISY = lambda b: (torch.randn(b, 4, 16, 16), torch.full((b,), 7), torch.randn(b, 6, 32))  # noqa: E731
DIFFUSION = {
    "unet2d": (part(lambda: diffusers.UNet2DModel(
        sample_size=16, block_out_channels=(16, 32), down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=8, **BLOCK), lambda y: y[0],
        lambda m, x, t: m(x, t, return_dict=False)),
        lambda b: (torch.randn(b, 3, 16, 16), torch.full((b,), 7))),
    "unet2d-condition": (part(lambda: diffusers.UNet2DConditionModel(
        sample_size=16, block_out_channels=(16, 32), down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), cross_attention_dim=32, attention_head_dim=8,
        **BLOCK), lambda y: y[0], lambda m, x, t, c: m(x, t, c, return_dict=False)), NOISY),
    "controlnet": (part(lambda: diffusers.ControlNetModel(
        block_out_channels=(16, 32), down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        cross_attention_dim=32, attention_head_dim=8, conditioning_embedding_out_channels=(8, 16), **BLOCK),
        lambda y: (*y[0], y[1]), lambda m, x, t, c, i: m(x, t, c, i, return_dict=False)),
        lambda b: (*NOISY(b), torch.rand(b, 3, 32, 32))),
    "vae-encode": (part(lambda: diffusers.AutoencoderKL(
        block_out_channels=(16, 32), down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2, **BLOCK), call=lambda m, x: m.encode(x).latent_dist.mode()),
        lambda b: (torch.randn(b, 3, 32, 32),)),
    "vae-decode": (part(lambda: diffusers.AutoencoderKL(
        block_out_channels=(16, 32), down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2, **BLOCK), call=lambda m, x: m.decode(x).sample),
        lambda b: (torch.randn(b, 4, 8, 8),)),
    "tiny-vae": (part(lambda: diffusers.AutoencoderTiny(
        encoder_block_out_channels=(16, 16), decoder_block_out_channels=(16, 16), num_encoder_blocks=(1, 1),
        num_decoder_blocks=(1, 1)), call=lambda m, x: m.decode(m.encode(x).latents).sample),
        lambda b: (torch.rand(b, 3, 32, 32),)),
    "vq": (part(lambda: diffusers.VQModel(
        block_out_channels=(16, 32), down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2, num_vq_embeddings=32, **BLOCK), lambda y: y[0],
        lambda m, x: m(x, return_dict=False)), lambda b: (torch.randn(b, 3, 16, 16),)),
    "dit": (part(lambda: diffusers.DiTTransformer2DModel(
        num_attention_heads=2, attention_head_dim=16, in_channels=4, num_layers=2, sample_size=8,
        norm_num_groups=8), lambda y: y[0], lambda m, x, t, c: m(x, t, c, return_dict=False)),
        lambda b: (torch.randn(b, 4, 8, 8), torch.full((b,), 7), torch.randint(0, 10, (b,)))),
    "pixart": (part(lambda: diffusers.PixArtTransformer2DModel(
        num_attention_heads=2, attention_head_dim=16, in_channels=4, out_channels=8, num_layers=2,
        cross_attention_dim=32, caption_channels=24, sample_size=8, norm_num_groups=8), lambda y: y[0],
        lambda m, x, t, c: m(x, c, timestep=t, added_cond_kwargs={"resolution": None, "aspect_ratio": None},
                             return_dict=False)),
        lambda b: (torch.randn(b, 4, 8, 8), torch.full((b,), 7), torch.randn(b, 6, 24))),
    "sd3": (part(lambda: diffusers.SD3Transformer2DModel(
        sample_size=8, patch_size=2, in_channels=4, num_layers=2, attention_head_dim=16, num_attention_heads=2,
        joint_attention_dim=24, caption_projection_dim=32, pooled_projection_dim=16, out_channels=4,
        pos_embed_max_size=16), lambda y: y[0],
        lambda m, x, c, p, t: m(x, c, p, t, return_dict=False)),
        lambda b: (torch.randn(b, 4, 8, 8), torch.randn(b, 6, 24), torch.randn(b, 16), torch.full((b,), 7))),
    "flux": (part(lambda: diffusers.FluxTransformer2DModel(
        patch_size=1, in_channels=8, num_layers=1, num_single_layers=1, attention_head_dim=16,
        num_attention_heads=2, joint_attention_dim=24, pooled_projection_dim=16, axes_dims_rope=(4, 4, 8)),
        lambda y: y[0], lambda m, x, c, p, t, a, i: m(
            hidden_states=x, encoder_hidden_states=c, pooled_projections=p, timestep=t, txt_ids=a, img_ids=i,
            return_dict=False)),
        lambda b: (torch.randn(b, 16, 8), torch.randn(b, 6, 24), torch.randn(b, 16), torch.rand(b),
                   torch.zeros(6, 3), torch.rand(16, 3)), BATCH, BATCH, BATCH, BATCH, {}, {}),
    "sana": (part(lambda: diffusers.SanaTransformer2DModel(
        in_channels=4, out_channels=4, num_attention_heads=2, attention_head_dim=16, num_layers=2,
        num_cross_attention_heads=2, cross_attention_head_dim=16, cross_attention_dim=32, caption_channels=24,
        sample_size=8), lambda y: y[0], lambda m, x, c, t: m(x, c, t, return_dict=False)),
        lambda b: (torch.randn(b, 4, 8, 8), torch.randn(b, 6, 24), torch.full((b,), 7))),
    "unet1d": (part(lambda: diffusers.UNet1DModel(
        block_out_channels=(16, 32), extra_in_channels=0, in_channels=8, out_channels=8, time_embedding_type="positional",
        use_timestep_embedding=True, layers_per_block=1, down_block_types=("DownResnetBlock1D",) * 2,
        up_block_types=("UpResnetBlock1D",), mid_block_type="MidResTemporalBlock1D", out_block_type="OutConv1DBlock",
        flip_sin_to_cos=False, freq_shift=1, act_fn="swish"),
        lambda y: y[0], lambda m, x, t: m(x, t, return_dict=False)),
        lambda b: (torch.randn(b, 8, 16), torch.full((b,), 7))),
    "prior": (part(lambda: diffusers.PriorTransformer(
        num_attention_heads=2, attention_head_dim=16, num_layers=2, embedding_dim=32, num_embeddings=6,
        additional_embeddings=4), lambda y: y[0], lambda m, x, t, p, e: m(
            x, t, proj_embedding=p, encoder_hidden_states=e, return_dict=False)),
        lambda b: (torch.randn(b, 32), torch.full((b,), 7), torch.randn(b, 32), torch.randn(b, 6, 32))),
    "cogvideo": (part(lambda: diffusers.CogVideoXTransformer3DModel(
        num_attention_heads=2, attention_head_dim=16, in_channels=4, out_channels=4, time_embed_dim=8,
        text_embed_dim=24, num_layers=2, sample_width=8, sample_height=8, sample_frames=5, patch_size=2,
        max_text_seq_length=6), lambda y: y[0], lambda m, x, c, t: m(x, c, t, return_dict=False)),
        lambda b: (torch.randn(b, 2, 4, 8, 8), torch.randn(b, 6, 24), torch.full((b,), 7))),
}

smp = Lazy("segmentation_models_pytorch")
SEGMENTERS = {"smp-" + name.lower() + "-" + encoder: (
    lambda name=name, encoder=encoder, extra=extra: getattr(smp, name)(
        encoder, encoder_weights=None, classes=3, **extra), lambda b: (torch.rand(b, 3, 64, 96),))
    for name, encoder, extra in [
        ("Unet", "resnet18", {}), ("Unet", "mobileone_s0", {}), ("Unet", "mit_b0", {}),
        ("UnetPlusPlus", "efficientnet-b0", {"decoder_attention_type": "scse"}), ("MAnet", "mobilenet_v2", {}),
        ("Linknet", "resnet18", {}), ("FPN", "timm-regnetx_002", {}), ("PSPNet", "resnet18", {}),
        ("DeepLabV3", "resnet18", {}), ("DeepLabV3Plus", "timm-mobilenetv3_small_100", {}),
        ("UPerNet", "resnet18", {}), ("Segformer", "mit_b0", {}), ("DPT", "tu-vit_tiny_patch16_224",
                                                                   {"dynamic_img_size": True})]}

monai = Lazy("monai.networks.nets")
VOLUME = lambda b: (torch.rand(b, 1, 32, 32, 32),)  # noqa: E731
PLANE = lambda b: (torch.rand(b, 1, 64, 64),)  # noqa: E731
MEDICINE = {
    "monai-unet": (lambda: monai.UNet(3, 1, 2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1), VOLUME),
    "monai-segresnet": (lambda: monai.SegResNet(3, init_filters=8, in_channels=1, out_channels=2), VOLUME),
    "monai-vnet": (lambda: monai.VNet(spatial_dims=3, in_channels=1, out_channels=2), VOLUME),
    "monai-dynunet": (lambda: monai.DynUNet(3, 1, 2, kernel_size=[3, 3, 3], strides=[1, 2, 2],
                                            upsample_kernel_size=[2, 2], filters=[8, 16, 16]), VOLUME),
    "monai-unetr": (lambda: monai.UNETR(1, 2, (32, 32, 32), feature_size=8, hidden_size=32, mlp_dim=64,
                                        num_heads=4), VOLUME),
    "monai-attention-unet": (lambda: monai.AttentionUnet(2, 1, 2, channels=(8, 16, 32), strides=(2, 2)), PLANE),
    "monai-basic-unet": (lambda: monai.BasicUNet(3, 1, 2, features=(8, 8, 16, 16, 16, 8)), VOLUME),
    "monai-densenet": (lambda: monai.DenseNet121(3, 1, 2, init_features=16, growth_rate=8, block_config=(2, 2)),
                       VOLUME),
    "monai-highresnet": (lambda: monai.HighResNet(3, 1, 2), VOLUME),
    "monai-efficientnet": (lambda: monai.EfficientNetBN("efficientnet-b0", pretrained=False, spatial_dims=2,
                                                        in_channels=1, num_classes=2), PLANE),
    "monai-vit": (part(lambda: monai.ViT(1, (32, 32, 32), (8, 8, 8), hidden_size=32, mlp_dim=64, num_layers=2,
                                         num_heads=4), lambda y: y[0]), VOLUME),
    "monai-vae": (part(lambda: monai.VarAutoEncoder(2, (1, 64, 64), 1, 8, channels=(4, 8), strides=(2, 2)),
                       lambda y: (y[1], y[2])), PLANE),
    "monai-flexible-unet": (lambda: monai.FlexibleUNet(1, 2, "efficientnet-b0", spatial_dims=2), PLANE),
    "monai-diffusion": (lambda: monai.DiffusionModelUNet(
        2, 1, 1, num_res_blocks=1, channels=(8, 16), attention_levels=(False, True), norm_num_groups=4,
        num_head_channels=8), lambda b: (torch.rand(b, 1, 32, 32), torch.full((b,), 5))),
}

kornia = Lazy("kornia")
PICTURE = lambda b: (torch.rand(b, 3, 40, 56),)  # noqa: E731
GREY = lambda b: (torch.rand(b, 1, 64, 64),)  # noqa: E731


def call(path, *arguments, **options):
    """kornia's function of an image and what follows."""
    def run(*operands):
        found = kornia
        for name in path.split("."):
            found = getattr(found, name)
        return found(*operands, *arguments, **options)
    return function(run)


VISION = {"kornia-" + path.split(".")[-1]: (call(path, *arguments, **options), PICTURE)
          for path, arguments, options in [
              ("filters.gaussian_blur2d", ((5, 5), (1.5, 1.5)), {}), ("filters.sobel", (), {}),
              ("filters.median_blur", ((3, 3),), {}), ("filters.bilateral_blur", ((3, 3), 0.1, (1.5, 1.5)), {}),
              ("filters.unsharp_mask", ((3, 3), (1.5, 1.5)), {}), ("filters.laplacian", (3,), {}),
              ("filters.box_blur", ((3, 3),), {}), ("filters.spatial_gradient", (), {}),
              ("filters.motion_blur", (5, 35.0, 0.5), {}),
              ("color.rgb_to_hsv", (), {}), ("color.rgb_to_hls", (), {}), ("color.rgb_to_lab", (), {}),
              ("color.rgb_to_luv", (), {}), ("color.rgb_to_yuv", (), {}), ("color.rgb_to_ycbcr", (), {}),
              ("color.rgb_to_xyz", (), {}), ("color.rgb_to_linear_rgb", (), {}), ("color.rgb_to_yuv420", (), {}),
              ("color.sepia", (), {}), ("enhance.adjust_hue", (0.3,), {}), ("enhance.adjust_saturation", (1.5,), {}),
              ("enhance.adjust_gamma", (1.4,), {}), ("enhance.equalize", (), {}),
              ("enhance.posterize", (4,), {}), ("enhance.solarize", (0.4,), {}), ("enhance.sharpness", (0.7,), {}),
              ("enhance.normalize_min_max", (), {}), ("geometry.transform.hflip", (), {}),
              ("geometry.transform.pyrdown", (), {}), ("geometry.transform.pyrup", (), {}),
              ("geometry.transform.resize", ((20, 30),), {"antialias": True}),
              ("geometry.transform.rescale", (0.5,), {}), ("feature.harris_response", (), {}),
              ("feature.gftt_response", (), {}), ("feature.hessian_response", (), {}),
              ("feature.dog_response_single", (), {}), ("contrib.extract_tensor_patches", ((8, 8),), {"stride": 8})]}
VISION |= {
    "kornia-canny": (function(lambda x: kornia.filters.canny(x)[1]), PICTURE),
    "kornia-rotate": (function(lambda x, a: kornia.geometry.transform.rotate(x, a)),
                      lambda b: (torch.rand(b, 3, 40, 56), torch.linspace(-40., 70., b))),
    "kornia-warp_perspective": (function(
        lambda x, m: kornia.geometry.transform.warp_perspective(x, m, (32, 48))),
        lambda b: (torch.rand(b, 3, 40, 56), torch.eye(3) + 0.001 * torch.rand(b, 3, 3))),
    "kornia-warp_affine": (function(lambda x, m: kornia.geometry.transform.warp_affine(x, m, (32, 48))),
                           lambda b: (torch.rand(b, 3, 40, 56), torch.eye(3)[:2] + 0.05 * torch.rand(b, 2, 3))),
    "kornia-crop_and_resize": (function(lambda x, p: kornia.geometry.transform.crop_and_resize(x, p, (16, 24))),
                               lambda b: (torch.rand(b, 3, 40, 56), torch.tensor(
                                   [[[4., 3.], [30., 3.], [30., 25.], [4., 25.]]]).repeat(b, 1, 1))),
    "kornia-undistort": (function(lambda x, k, d: kornia.geometry.calibration.undistort_image(x, k, d)),
                         lambda b: (torch.rand(b, 3, 40, 56), torch.tensor(
                             [[[40., 0., 28.], [0., 40., 20.], [0., 0., 1.]]]).repeat(b, 1, 1),
                             0.01 * torch.rand(b, 4))),
    "kornia-dilation": (function(lambda x: kornia.morphology.dilation(x, torch.ones(3, 3))), PICTURE),
    "kornia-gradient": (function(lambda x: kornia.morphology.gradient(x, torch.ones(3, 3))), PICTURE),
    "kornia-ssim": (function(lambda x, y: kornia.metrics.ssim(x, y, 5)),
                    lambda b: (torch.rand(b, 3, 40, 56), torch.rand(b, 3, 40, 56))),
    "kornia-hardnet": (lambda: kornia.feature.HardNet(False), lambda b: (torch.rand(b, 1, 32, 32),)),
    "kornia-sift": (lambda: kornia.feature.SIFTDescriptor(32), lambda b: (torch.rand(b, 1, 32, 32),)),
    "kornia-mkd": (lambda: kornia.feature.MKDDescriptor(32, whitening=None), lambda b: (torch.rand(b, 1, 32, 32),)),
    "kornia-disk": (part(lambda: kornia.feature.DISK(), call=lambda m, x: m.heatmap_and_dense_descriptors(x)),
                    lambda b: (torch.rand(b, 3, 64, 64),)),
    "kornia-quaternion": (function(lambda q: kornia.geometry.conversions.quaternion_to_rotation_matrix(q)),
                          lambda b: (torch.randn(b, 4),)),
    "kornia-axis-angle": (function(lambda r: kornia.geometry.conversions.axis_angle_to_rotation_matrix(r)),
                          lambda b: (torch.randn(b, 3),)),
    "kornia-depth": (function(lambda d, k: kornia.geometry.depth.depth_to_3d(d, k)),
                     lambda b: (torch.rand(b, 1, 12, 16), torch.eye(3).repeat(b, 1, 1))),
}

graphs = Lazy("torch_geometric.nn")


def edges(count, nodes=9):
    generator = torch.Generator().manual_seed(count)
    return torch.randint(0, nodes, (2, count), generator=generator)


GRAPH = lambda b: (torch.randn(9, 8), edges(10 * b))  # noqa: E731
EDGES = {1: "edges"}
GRAPHS = {"pyg-" + name.lower(): (make, GRAPH, {}, EDGES) for name, make in {
    "GCN": lambda: graphs.GCN(8, 16, 2, 4), "GraphSAGE": lambda: graphs.GraphSAGE(8, 16, 2, 4),
    "GIN": lambda: graphs.GIN(8, 16, 2, 4), "GAT": lambda: graphs.GAT(8, 16, 2, 4, heads=2),
    "GATv2": lambda: graphs.GAT(8, 16, 2, 4, heads=2, v2=True),
    "Transformer": lambda: graphs.TransformerConv(8, 4, heads=2), "Cheb": lambda: graphs.ChebConv(8, 4, 3),
    "TAG": lambda: graphs.TAGConv(8, 4), "ARMA": lambda: graphs.ARMAConv(8, 4), "SG": lambda: graphs.SGConv(8, 4, 2),
    "APPNP": lambda: graphs.APPNP(3, 0.1), "GatedGraph": lambda: graphs.GatedGraphConv(8, 2),
    "GENConv": lambda: graphs.GENConv(8, 4), "LE": lambda: graphs.LEConv(8, 4), "FiLM": lambda: graphs.FiLMConv(8, 4),
    "Cluster": lambda: graphs.ClusterGCNConv(8, 4), "MF": lambda: graphs.MFConv(8, 4),
    "Supergat": lambda: graphs.SuperGATConv(8, 4),
    "LightGCN": lambda: graphs.LGConv(),
    "SAGESoftmax": lambda: graphs.SAGEConv(8, 4, aggr="softmax")}.items()}
GROUPED = lambda b: (torch.randn(9, 8), torch.tensor([0, 0, 0, 1, 1, 1, 2, 2, 2]))  # noqa: E731
GRAPHS["pyg-pool"] = (function(lambda x, g: (
    graphs.global_mean_pool(x, g, 3), graphs.global_max_pool(x, g, 3), graphs.global_add_pool(x, g, 3))),
    GROUPED, {}, {})
GRAPHS["pyg-norm"] = (part(lambda: graphs.GraphNorm(8), call=lambda m, x, g: m(x, g, 3)), GROUPED, {}, {})

audio, sounds = Lazy("torchaudio.models"), Lazy("torchaudio.transforms")
WAVE = lambda b: (0.1 * torch.randn(b, 4000),)  # noqa: E731
SOUND = {
    "audio-conformer": (part(lambda: audio.Conformer(16, 2, 32, 2, 7), lambda y: y[0]),
                        lambda b: (torch.randn(b, 20, 16), torch.full((b,), 20))),
    "audio-deepspeech": (lambda: audio.DeepSpeech(16, 32, 10), lambda b: (torch.randn(b, 1, 12, 16),)),
    "audio-wav2letter": (lambda: audio.Wav2Letter(10, "mfcc", 13), lambda b: (torch.randn(b, 13, 50),)),
    "audio-hubert": (part(lambda: audio.hubert_pretrain_base(), lambda y: y, call=lambda m, x: m.wav2vec2(x)[0]),
                     lambda b: (torch.randn(b, 2000),)),
    "audio-emformer": (part(lambda: audio.Emformer(16, 2, 32, 2, 4, right_context_length=1), lambda y: y[0]),
                       lambda b: (torch.randn(b, 9, 16), torch.full((b,), 9))),
    "audio-squim": (part(lambda: audio.squim_objective_base(), lambda y: tuple(y)), lambda b: (torch.randn(b, 8000),)),
    "audio-spectrogram": (lambda: sounds.Spectrogram(256), WAVE),
    "audio-mel": (lambda: sounds.MelSpectrogram(8000, 256, n_mels=20), WAVE),
    "audio-mfcc": (lambda: sounds.MFCC(8000, 13, melkwargs={"n_fft": 256, "n_mels": 20}), WAVE),
    "audio-lfcc": (lambda: sounds.LFCC(8000, n_filter=20, n_lfcc=13, speckwargs={"n_fft": 256}), WAVE),
    "audio-decibels": (part(lambda: sounds.AmplitudeToDB(), call=lambda m, x: m(x.abs())), WAVE),
    "audio-resample": (lambda: sounds.Resample(8000, 6000), WAVE),
    "audio-vol": (lambda: sounds.Vol(6.0, "db"), WAVE),
    "audio-centroid": (lambda: sounds.SpectralCentroid(8000, 256), WAVE),
}

tabnet = Lazy("pytorch_tabnet.tab_network")
clip = Lazy("open_clip")
doctr = Lazy("doctr.models")
MIXED = {
    "tabnet": (part(lambda: tabnet.TabNet(10, 3, group_attention_matrix=torch.eye(10)), lambda y: y[0]),
               lambda b: (torch.randn(b, 10),)),
    "clip-image": (part(lambda: clip.create_model("ViT-S-16-alt"), call=lambda m, x: m.encode_image(x)),
                   lambda b: (torch.rand(b, 3, 224, 224),)),
    "clip-text": (part(lambda: clip.create_model("ViT-S-16-alt"), call=lambda m, x: m.encode_text(x)),
                  lambda b: (torch.randint(1, 1000, (b, 77)),)),
    "doctr-db": (part(lambda: doctr.db_mobilenet_v3_large(pretrained=False, pretrained_backbone=False, exportable=True),
                      lambda y: y["logits"]), lambda b: (torch.rand(b, 3, 128, 128),)),
    "doctr-linknet": (part(lambda: doctr.linknet_resnet18(pretrained=False, pretrained_backbone=False,
                                                          exportable=True), lambda y: y["logits"]),
                      lambda b: (torch.rand(b, 3, 128, 128),)),
    "doctr-fast": (part(lambda: doctr.fast_tiny(pretrained=False, pretrained_backbone=False, exportable=True),
                        lambda y: y["logits"]), lambda b: (torch.rand(b, 3, 128, 128),)),
    "doctr-crnn": (part(lambda: doctr.crnn_mobilenet_v3_small(pretrained=False, pretrained_backbone=False,
                                                              exportable=True), lambda y: y["logits"]),
                   lambda b: (torch.rand(b, 3, 32, 128),)),
    "doctr-vitstr": (part(lambda: doctr.vitstr_small(pretrained=False, pretrained_backbone=False, exportable=True),
                          lambda y: y["logits"]), lambda b: (torch.rand(b, 3, 32, 128),)),
    "doctr-parseq": (part(lambda: doctr.parseq(pretrained=False, pretrained_backbone=False, exportable=True),
                          lambda y: y["logits"]), lambda b: (torch.rand(b, 3, 32, 128),)),
    "doctr-sar": (part(lambda: doctr.sar_resnet31(pretrained=False, pretrained_backbone=False, exportable=True),
                       lambda y: y["logits"]), lambda b: (torch.rand(b, 3, 32, 128),)),
    "doctr-viptr": (part(lambda: doctr.viptr_tiny(pretrained=False, pretrained_backbone=False, exportable=True),
                         lambda y: y["logits"]), lambda b: (torch.rand(b, 3, 32, 128),)),
}


def policy(kind, space, action):
    def build():
        spaces = importlib.import_module("gymnasium.spaces")
        common = importlib.import_module("stable_baselines3.%s.policies" % kind)
        observed = (spaces.Box(-1, 1, (6,)) if space == "box" else spaces.Box(0, 255, (3, 64, 64), dtype="uint8"))
        acted = spaces.Discrete(4) if action == "discrete" else spaces.Box(-1, 1, (2,))
        name = "CnnPolicy" if space != "box" else "MlpPolicy"
        made = getattr(common, name)(observed, acted, lambda _: 1e-3)
        return Part(made, call=lambda x: made._predict(x, deterministic=True))
    shape = (6,) if space == "box" else (3, 64, 64)
    return build, lambda b: ((torch.rand(b, *shape) * 2 - 1) if space == "box" else torch.randint(
        0, 256, (b, *shape), dtype=torch.uint8),)


MIXED |= {"policy-%s-%s-%s" % case: policy(*case) for case in [
    ("ppo", "box", "discrete"), ("ppo", "box", "box"), ("ppo", "image", "discrete"), ("sac", "box", "box"),
    ("dqn", "box", "discrete"), ("dqn", "image", "discrete"), ("td3", "box", "box")]}

# What PyTorch's older exporter does not know.
BY_DYNAMO = """flux smp-pspnet-resnet18 smp-upernet-resnet18 smp-dpt-tu-vit_tiny_patch16_224 kornia-bilateral_blur
kornia-sharpness kornia-rotate kornia-warp_affine audio-spectrogram audio-mel audio-mfcc audio-lfcc audio-centroid
pyg-pool pyg-norm""".split()
ALL = {**DIFFUSION, **SEGMENTERS, **MEDICINE, **VISION, **GRAPHS, **SOUND, **MIXED}
EXPORTS = [row(name, spec(case[0], case[1], *(case[2:] or (BATCH,))),
               *(DYNAMO if name in BY_DYNAMO else SCRIPT)) for name, case in ALL.items()]
