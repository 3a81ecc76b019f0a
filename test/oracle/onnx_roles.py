#===- onnx_roles.py - What arguments of ONNX operators have to be like --------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Shapes, contents and attributes that the schemas do not tell, as rules.

A rule of shapes lists an operator's inputs: `A[B...,M,K]{transA} C[M,N]~ I[P...]:index`.
  M       a size; the same letter is the same size in all inputs
  C*g     a product; small letters are small numbers from 1 on
  S...    a list of sizes; K... is a list of small ones, as long as S...
  ~S...   such a list, broadcast to it
  [X@axis]  the sizes of input X from the attribute's axis on
  [X.axis]  its size there (without the attribute, of dimension 1)
  {a}     the last two are exchanged where attribute a is not 0
  ~       broadcast to that
  :role   how its elements are drawn (ROLES)
Of several rules of one operator one is drawn. Operators without one broadcast their inputs. Inputs that are not listed go by
their name (BY_NAME), else are broadcast to the first.
"""

import re

import numpy as np

# Where sums of the largest numbers overflow or do not, by their order.
SUMS = re.compile(r"MatMul|Gemm|Conv|Reduce|Norm|Sum|Mean|Einsum|Softmax|LSTM|GRU|RNN|Pool|LRN|Det"
                  r"|Attention|Loss|Resize|Upsample|GridSample|RoiAlign|DFT|CDist|Inverse|Variance"
                  r"|Rotary|Gelu|Cum|Affine|Linear")

# Where errors of operands grow exponentially.
CALM = re.compile(r"Attention|^(RNN|GRU|(DynamicQuantize)?LSTM)$|^Pow$|^RoiAlign$|^MoEGroupRouter$|^EngramGate$"
                  r"|^HyperConnection")
# What NaN and infinities give is nobody's word: which of two is larger, inf - inf in a sum.
FINITE = re.compile(r"^(MaxpoolWithMask|CausalConvWithState|LinearAttention|LRN|GridSample|InstanceNormalization|RNN|GRU|LSTM|DFT|STFT|Det|CDist|MoE|MRotaryEmbedding|DynamicQuantizeLSTM|WordConvEmbedding|DynamicTimeWarping|MaxPool|NhwcMaxPool|GlobalMaxPool|MaxRoiPool|Hardmax|DynamicQuantizeMatMul|DynamicQuantizeLinear|QLinear\w+|Resize|Upsample|(Nhwc)?(Fused)?Conv|ConvTranspose(WithDynamicPads)?)$")
# Where ONNX Runtime does not write the results of products over nothing.
FILLED = re.compile(r"^(QGemm|DynamicQuantizeMatMul|MatMulIntegerToFloat)$")
# Results that are asked for, where optional ones are not computed by the oracle.
RESULTS = {"SkipLayerNormalization": 1, "SkipSimplifiedLayerNormalization": 1, "Split": 2,
           "EmbedLayerNormalization": 1}


def least_epsilons(name, dtype=None):
    """Where ONNX Runtime itself is further from the exact value. 1 + erf(x) cancels where x is
    negative: half an epsilon of 1 is 512 of what is left at -3. Its sines of doubles are off by
    two epsilons of 1, whatever they are."""
    if name in ("Sin", "Cos") and dtype == np.float64:
        return 64
    return {"BiasGelu": 1024, "FastGelu": 1024, "BiasSplitGelu": 1024, "QuickGelu": 64, "DFT": 4096, "STFT": 4096, "Det": 256, "Inverse": 256, "Gelu": 1024, "Pow": 64, "Sigmoid": 64,
            "Erf": 64, "Resize": 256, "Upsample": 64, "GridSample": 256}.get(name, 0)


def excluded(schema):
    """Types that the oracle computes in others, by a function of the type."""
    def integers(t):
        return t.kind in "iub"
    if schema.domain == "com.microsoft":  # doubles in single precision
        return lambda t: t == "float64"
    if re.match(r"ReduceLog|Upsample|Resize|Pow|.*Window", schema.name):
        return integers
    if schema.name in ("HardSwish", "Erf", "Gelu", "Mish"):  # in single precision
        return lambda t: t == "float64"
    if schema.name == "Attention":  # scales in single precision; masks made of -inf as integers
        return lambda t: t == "float64" or t.kind in "iu"
    if schema.name == "Trilu":  # of strings the zero is said nowhere
        return lambda t: t == object
    if schema.name in ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"):  # sums overflow
        return lambda t: t.name in ("bfloat16", "float16")
    if schema.name in ("QuantizeLinear",):
        return lambda t: t == "int32" or t.name == "float8_e8m0fnu"
    return lambda t: t.name == "float8_e8m0fnu"


# Operands behind the first are weights, of fixed sizes.
WEIGHTS = re.compile(r"^(RNN|GRU|(Attn)?LSTM)$|Attention|Rotary|Conv")

POOL = "X[N,C,S...]"
SCALES = "x_scale[]:scale x_zero_point[]:zero"
RULES = {
    "MatMul": ("A[B...,M,K] B[B...,K,N]", "A[~B...,M,K] B[~B...,K,N]", "A[K] B[~B...,K,N]", "A[~B...,M,K] B[K]",
               "A[K] B[K]"),
    "MatMulInteger": ("A[B...,M,K] B[K,N] a_zero_point[]:zero b_zero_point[]:zero",
                      "A[~B...,M,K] B[~B...,K,N] a_zero_point[]:zero b_zero_point[]:zero",
                      "A[B...,M,K] B[K,N] a_zero_point[]:zero b_zero_point[N]:zero"),
    "MatMulIntegerToFloat": "A[M,K] B[K,N] a_scale[]:scale b_scale[]:scale a_zero_point[]:zero"
                            " b_zero_point[]:zero bias[N]",
    "DynamicQuantizeMatMul": "A[M,K] B[K,N] b_scale[]:scale b_zero_point[]:zero bias[N]",
    "MatMulInteger16": "A[M,K] B[K,N]",
    "QLinearMatMul": ("a[M,K] a_scale[]:scale a_zero_point[]:zero b[K,N] b_scale[]:scale"
                      " b_zero_point[]:zero y_scale[]:scale y_zero_point[]:zero",
                      "a[~B...,M,K] a_scale[]:scale a_zero_point[]:zero b[~B...,K,N] b_scale[]:scale"
                      " b_zero_point[]:zero y_scale[]:scale y_zero_point[]:zero",
                      "a[B...,M,K] a_scale[]:scale a_zero_point[]:zero b[K,N] b_scale[N]:scale"
                      " b_zero_point[N]:zero y_scale[]:scale y_zero_point[]:zero"),
    "QGemm": "A[M,K]{transA} a_scale[]:scale a_zero_point[]:zero B[K,N]{transB} b_scale[]:scale"
             " b_zero_point[]:zero C[M,N]~ y_scale[]:scale y_zero_point[]:zero",
    "Gemm": "A[M,K]{transA} B[K,N]{transB} C[M,N]~",
    "FusedGemm": "A[M,K]{transA} B[K,N]{transB} C[M,N]~",
    "GemmFastGelu": "X[B...,M,K] W[K,N] bias[N]",
    "FusedMatMul": "A[~B...,M,K]{transA} B[~B...,K,N]{transB}",
    "TransposeMatMul": "A[B...,M,K]{transA} B[B...,K,N]{transB}",
    "FusedMatMulActivation": "A[B...,M,K]{transA} B[B...,K,N]{transB}",
    "Conv": "X[N,C*g,S...] W[M*g,C,K...] B[M*g]",
    "FusedConv": "X[N,C*g,S...] W[M*g,C,K...] B[M*g] Z[=out]",
    "NhwcConv": "X[N,S...,C*g] W[M*g,C,K...] B[M*g]",
    "NhwcFusedConv": "X[N,S...,C*g] W[M*g,C,K...] B[M*g]",
    "ConvTranspose": "X[N,C*g,S...] W[C*g,M,K...] B[M*g]",
    "ConvInteger": "x[N,C*g,S...] w[M*g,C,K...] x_zero_point[]:zero w_zero_point[]:zero",
    "QLinearConv": ("x[N,C*g,S...] x_scale[]:scale x_zero_point[]:zero w[M*g,C,K...]"
                    " w_scale[]:scale w_zero_point[]:zero y_scale[]:scale y_zero_point[]:zero"
                    " B[M*g]",
                    "x[N,C*g,S...] x_scale[]:scale x_zero_point[]:zero w[M*g,C,K...]"
                    " w_scale[M*g]:scale w_zero_point[M*g]:zero y_scale[]:scale"
                    " y_zero_point[]:zero B[M*g]"),
    "DeformConv": "X[N,C*g,H,W] W[M*g,C,k,l] offset[N,2*k*l,H,W] B[M*g] mask[N,k*l,H,W]",
    "AveragePool": POOL, "MaxPool": POOL, "LpPool": POOL, "GlobalAveragePool": POOL,
    "GlobalMaxPool": POOL, "GlobalLpPool": POOL, "LRN": POOL, "MeanVarianceNormalization": POOL,
    "NhwcMaxPool": "x[N,S...,C]",
    "QLinearAveragePool": "X[N,C,S...] x_scale[]:scale x_zero_point[]:zero y_scale[]:scale"
                          " y_zero_point[]:zero",
    "QLinearGlobalAveragePool": "X[N,C,S...] x_scale[]:scale x_zero_point[]:zero y_scale[]:scale"
                                " y_zero_point[]:zero",
    "MaxRoiPool": "X[N,C,H,W] rois[Q,5]:rois",
    "RoiAlign": "X[N,C,H,W] rois[Q,4]:boxes batch_indices[Q]:below=N",
    "BatchNormalization": "X[N,C,S...] scale[C] B[C] input_mean[C] input_var[C]:positive",
    "InstanceNormalization": "input[N,C,S...] scale[C] B[C]",
    "GroupNormalization": "X[N,C*g,S...] scale[C*g] bias[C*g]",
    "GroupNorm": "X[N,H,W,C*g*4] gamma[C*g*4] beta[C*g*4]",
    "SkipGroupNorm": "X[N,H,W,C*g*4] gamma[C*g*4] beta[C*g*4] skip[N,H,W,C*g*4] bias[C*g*4]",
    "LayerNormalization": "X[R...] Scale[X@axis] B[X@axis]",
    "RMSNormalization": "X[R...] scale[X@axis]",
    "SimplifiedLayerNormalization": "X[R...] scale[X@axis]",
    "SkipLayerNormalization": "input[N,L,H] skip[N,L,H] gamma[H] beta[H] bias[H]",
    "SkipSimplifiedLayerNormalization": "input[N,L,H] skip[N,L,H] gamma[H] bias[H]",
    "EmbedLayerNormalization": "input_ids[N,L]:index=V segment_ids[N,L]:index=T"
                               " word_embedding[V,H] position_embedding[L,H]"
                               " segment_embedding[T,H] gamma[H] beta[H] mask[N,L]:bit",
    "BiasGelu": "A[R...,H] B[H]", "FastGelu": "X[R...,H] bias[H]", "BiasAdd": "X[N,L,H] bias[H] skip[N,L,H]",
    "BiasSplitGelu": "X[N,L,2*H] bias[2*H]",
    "BiasSoftmax": "data[R...] bias[R...]", "BiasDropout": "data[R...,H] bias[H] residual[R...,H]",
    "Softmax": "input[R...]", "LogSoftmax": "input[R...]", "Hardmax": "input[R...]",
    "Gather": "data[R...] indices[P...]:index@axis",
    "GatherBlockQuantized": "data[V,N] indices[P...]:index=V scales[V,1] zero_points[V,1]",
    "GatherElements": "data[R...] indices[R...]:index@axis",
    "ScatterElements": "data[R...] indices[R...]:unique@axis updates[R...]",
    "Scatter": "data[R...] indices[R...]:unique@axis updates[R...]",
    "GatherND": ("data[V,M,T...] indices[P...,1]:index=V", "data[V,M,T...] indices[P,2]:places",
                 "data[B...,V,T...] indices[B...,P...,1]:index=V"),
    "ScatterND": ("data[V,T...] indices[P,1]:unique=V updates[P,T...]",
                  "data[V,M,T...] indices[P,2]:places updates[P,T...]"),
    "TensorScatter": "past_cache[N,L,H] update[N,k,H] write_indices[N]:bit",
    "OneHot": "indices[R...]:any=9 depth[]:small values[2]",
    "Compress": "input[R...] condition[]:mask",
    "Where": "condition[R...]~ X[R...]~ Y[R...]~",
    "TopK": "X[R...,N] K[1]:count=N",
    "Pad": ("data[R...] pads[2*#]:pads constant_value[] axes[]:skip",
            "data[R...] pads[2]:pads constant_value[] axes[1]:axis"),
    "Tile": "input[R...] repeats[#]:repeats",
    "Upsample": "X[N,C,H,W] scales[4]:scales",
    "Slice": ("data[R...] starts[#]:any=9 ends[#]:any=9 axes[#]:every steps[#]:steps",
              "data[R...] starts[1]:any=9 ends[1]:any=9 axes[1]:axis steps[1]:steps"),
    "Split": ("input[R...] split[]:skip", "input[R...] split[2]:parts@axis"),
    "ReverseSequence": ("input[L,N,T...] sequence_lens[N]:length=L",
                        "input[N,L*b,T...] sequence_lens[N]:length=L"),
    "Det": "X[B...,M,M]", "Inverse": "X[B...,M,M]:spd", "Trilu": "input[B...,M,N] k[]:offset",
    "EyeLike": "input[M,N]", "CumSum": "x[R...,N] axis[]:axis", "CumProd": "x[R...,N] axis[]:axis",
    "DepthToSpace": "input[N,C*b*b,H,W]", "SpaceToDepth": "input[N,C,H*b,W*b]",
    "RNN": "X[L,N,I] W[d,H,I]:weights R[d,H,H]:weights B[d,2*H] sequence_lens[N]:length=L initial_h[d,N,H]",
    "GRU": "X[L,N,I] W[d,3*H,I]:weights R[d,3*H,H]:weights B[d,6*H] sequence_lens[N]:length=L initial_h[d,N,H]",
    "LSTM": "X[L,N,I] W[d,4*H,I]:weights R[d,4*H,H]:weights B[d,8*H] sequence_lens[N]:length=L initial_h[d,N,H]"
            " initial_c[d,N,H] P[d,3*H]",
    "PRelu": "X[R...] slope[R...]~",
    "Expand": "input[R...]~ shape[]:full",
    "Range": "start[]:even limit[]:even delta[]:step",
    "NonMaxSuppression": "boxes[N,Q,4]:boxes scores[N,C,Q]:unit max_output_boxes_per_class[1]:small"
                         " iou_threshold[1]:unit score_threshold[1]:unit",
    "GridSample": ("X[N,C,H,W] grid[N,P,Q,2]:unit", "X[N,C,D,H,W] grid[N,L,P,Q,3]:unit"),
    "AffineGrid": ("theta[N,2,3] size[4]:sizes", "theta[N,3,4] size[5]:sizes"),
    "NegativeLogLikelihoodLoss": "input[N,C,S...] target[N,S...]:below=C weight[C]:unit",
    "SoftmaxCrossEntropyLoss": "scores[N,C,S...] labels[N,S...]:below=C weights[C]:unit",
    "QuantizeLinear": ("x[R...] y_scale[]:scale y_zero_point[]:zero",
                       "x[R...] y_scale[x.axis]:scale y_zero_point[x.axis]:zero",
                       "x[N,M*b,T...] y_scale[N,M,T...]:scale y_zero_point[N,M,T...]:zero"),
    "DequantizeLinear": ("x[R...] x_scale[]:scale x_zero_point[]:zero",
                         "x[R...] x_scale[x.axis]:scale x_zero_point[x.axis]:zero",
                         "x[N,M*b,T...] x_scale[N,M,T...]:scale x_zero_point[N,M,T...]:zero"),
    "DynamicQuantizeLinear": "x[N*b,b]",
    "QLinearAdd": "A[R...]~ A_scale[]:scale A_zero_point[]:zero B[R...]~ B_scale[]:scale"
                  " B_zero_point[]:zero C_scale[]:scale C_zero_point[]:zero",
    "QLinearMul": "A[R...]~ A_scale[]:scale A_zero_point[]:zero B[R...]~ B_scale[]:scale"
                  " B_zero_point[]:zero C_scale[]:scale C_zero_point[]:zero",
    "QLinearLeakyRelu": "X[R...] X_scale[]:scale X_zero_point[]:zero Y_scale[]:scale"
                        " Y_zero_point[]:zero",
    "QLinearSigmoid": "X[R...] X_scale[]:scale X_zero_point[]:zero Y_scale[]:scale"
                      " Y_zero_point[]:zero",
    "QLinearSoftmax": "X[R...] X_scale[]:scale x_zero_point[]:zero y_scale[]:scale"
                      " y_zero_point[]:zero",
    "QLinearWhere": "condition[R...]~ X[R...]~ x_scale[]:scale x_zero_point[]:zero Y[R...]~"
                    " y_scale[]:scale y_zero_point[]:zero z_scale[]:scale z_zero_point[]:zero",
    "RotaryEmbedding": ("X[N,h,L,2*D] cos_cache[N,L,D] sin_cache[N,L,D] position_ids[]:skip",
                        "X[N,h,L,2*D] cos_cache[V,D] sin_cache[V,D] position_ids[N,L]:below=V"),
    "Attention": ("Q[N,h,L,D] K[N,h,M,D] V[N,h,M,E] attn_mask[L,M]~ past_key[]:skip"
                  " past_value[]:skip nonpad_kv_seqlen[]:skip",
                  "Q[N,h*g,L,D] K[N,h,M,D] V[N,h,M,E] attn_mask[N,1,L,M]~ past_key[]:skip"
                  " past_value[]:skip nonpad_kv_seqlen[]:skip",
                  "Q[N,L,D*h] K[N,M,D*h] V[N,M,E*h] attn_mask[L,M]~ past_key[]:skip"
                  " past_value[]:skip nonpad_kv_seqlen[N]:length=M"),
    "Einsum": "", "CDist": "A[M,K] B[N,K]", "Col2Im": "input[N,C*4,9] image_shape[2]:four block_shape[2]:two",
    "MaxUnpool": "X[N,C,H,W] I[N,C,H,W]:index=H output_shape[]:skip",
    "DFT": ("input[N,L,1] dft_length[]:skip axis[]:skip", "input[N,L,2] dft_length[]:skip axis[]:skip",
            "input[N,T...,L,c] dft_length[]:positives axis[]:axis"),
    "STFT": ("signal[N,L,1] window[F]", "signal[N,L,c] frame_step[]:positives window[F] frame_length[]:size=F"),
    "StringConcat": "X[R...]~ Y[R...]~", "Unique": "X[R...]", "NonZero": "X[R...]",
    "MelWeightMatrix": "num_mel_bins[]:small dft_length[]:small sample_rate[]:positives",
    "HannWindow": "size[]:small", "HammingWindow": "size[]:small", "BlackmanWindow": "size[]:small",
    "Bernoulli": "input[R...]:unit",
    "ConstantOfShape": "input[k]:sizes", "Dropout": "data[R...] ratio[]:unit training_mode[]:zeros",
    "Clip": "input[R...] min[] max[]", "Flatten": "input[R...]", "Concat": "inputs[R...]",
    "CenterCropPad": "input_data[R...] shape[#]:sizes", "BitShift": "X[R...]~ Y[R...]~:small",
    "Resize": ("X[N,C,H,W] roi[]:skip scales[4]:scales sizes[4]:sizes",
               "X[N,C,L] roi[]:skip scales[3]:scales sizes[3]:positives",
               "X[N,C,D,H,W] roi[]:skip scales[5]:scales sizes[5]:sizes"),
    "Squeeze": "data[R...] axes[]:ones", "Unsqueeze": "data[R...] axes[k]:newaxes",
    "Reshape": "data[R...] shape[]:reshape",
    "QLinearConcat": "", "Gradient": None, "Loop": None, "If": None, "Scan": None,
    "ComplexMul": "A[R...,2] B[R...,2]", "ComplexMulConj": "A[R...,2] B[R...,2]",
    "QLinearReduceMean": "data[R...] data_scale[]:scale data_zero_point[]:zero"
                         " reduced_scale[]:scale reduced_zero_point[]:zero",
    "ReduceSumInteger": "data[R...]",
    "MulInteger": "A[R...]~ A_zero_point[]:zero B[R...]~ B_zero_point[]:zero",
    "ArrayFeatureExtractor": "X[M,N] Y[k]:index=N", "Normalizer": "X[M,N]", "Scaler": "X[M,N]",
    "LinearRegressor": "X[M,N]", "LinearClassifier": "X[M,N]", "Imputer": "X[M,N]",
    "TreeEnsemble": "X[M,N]", "TreeEnsembleClassifier": "X[M,N]", "TreeEnsembleRegressor": "X[M,N]",
    "DynamicQuantizeLSTM": "X[L,N,I] W[d,I,4*H]:bytes R[d,H,4*H]:bytes B[d,8*H]"
                           " sequence_lens[N]:length=L initial_h[d,N,H] initial_c[d,N,H] P[d,3*H]"
                           " W_scale[d]:fine W_zero_point[d]:zero R_scale[d]:fine"
                           " R_zero_point[d]:zero",
    "ConvTransposeWithDynamicPads": "X[N,C*g,H,W] W[C*g,M,K,K] Pads[4]:bit B[M*g]",
    "MoE": "input[N,H] router_probs[N,E] fc1_experts_weights[E,F,H]:weights"
           " fc1_experts_bias[E,F] fc2_experts_weights[E,H,F]:weights fc2_experts_bias[E,H]"
           " fc3_experts_weights[]:skip fc3_experts_bias[]:skip",
    "LinearAttention": "query[N,L,h*D] key[N,L,h*D] value[N,L,h*E] past_state[N,h,D,E]"
                       " decay[N,L,h] beta[N,L,h]:unit",
    "LinearAttentionGate": "a[N,L,H] dt_bias[H] decay_scale[H] b[N,L,H]",
    "CausalConvWithState": "input[N,C,L] weight[C,1,k] bias[C] past_state[]:skip",
    "GatedAdd": "X[R...,H] Y[R...,H] gate[R...,1] gate_weight[]:skip",
    "EngramGate": "key[N,L,C,H] query[N,L,C,H] value[N,L,H] key_norm_scale[C,H]"
                  " query_norm_scale[C,H] conv_norm_scale[C,H]",
    "HyperConnectionPreMix": ("streams[N,L,C,H] pre_mix[N,L,C]", "streams[N,L,C,H] pre_mix[N,L,C,H]"),
    "HyperConnectionPostMix": "streams[N,L,C,H] block_output[N,L,H] post_mix[N,L,C]"
                              " stream_mix[N,L,C,C]",
    "MoEGroupRouter": "logits[N,L,E] expert_bias[E] projection_weight[]:skip",
    "MRotaryEmbedding": "input[N,h,L,2*D] position_ids[3,N,L]:below=V cos_cache[V,D]"
                        " sin_cache[V,D]",
    "WordConvEmbedding": "Sequence[N,9]:letters=V W[M,1,k,D] B[M] C[V,D]",
    "DynamicTimeWarping": "input[M,N]",
    "BifurcationDetector": "src_tokens[L]:below=b cur_tokens[M]:below=b"
                           " prev_suffix_match_idx[]:zeros pred_tokens[L+]:below=b",
    "LpNormalization": "input[N,R...]",
    "Momentum": None, "Adagrad": None, "Adam": None,
    "MaxpoolWithMask": "X[N,C,S...] M[1,1,S...]:bit",
    # Drawn whole: onnx_decoders.py and onnx_searches.py.
    "GreedySearch": None, "Sampling": None, "BeamSearch": None, "WhisperBeamSearch": None,
    "SparseAttention": None, "AttnLSTM": None, "DecoderMaskedMultiHeadAttention": None,
    # Sizes that attributes say, operands without which ONNX Runtime's process ends (single_operators.py).
    "NGramHashMapping": None, "VarlenCausalConvWithState": None, "GatherPacked": None,
}

# Inputs that are the same in many operators.
BY_NAME = {"axes": "axes[]:axes", "axis": "axis[]:axis", "k": "k[]:offset"}

# Values of attributes of type string, where the schema tells them in prose only.
WORDS = {
    "auto_pad": ["NOTSET"] * 4 + ["SAME_UPPER", "SAME_LOWER", "VALID"],
    "mode": {"Pad": ["constant", "edge", "reflect", "wrap"],
             "Resize": ["nearest", "linear", "cubic"], "Upsample": ["nearest", "linear"],
             "DepthToSpace": ["DCR", "CRD"], "RoiAlign": ["avg", "max"],
             "GridSample": ["linear", "nearest", "cubic", "bilinear", "bicubic"]},
    "direction": {"BitShift": ["LEFT", "RIGHT"], None: ["forward", "reverse", "bidirectional"]},
    "reduction": {"ScatterElements": ["none", "add", "mul", "min", "max"],
                  "ScatterND": ["none", "add", "mul", "min", "max"],
                  None: ["none", "mean", "sum"]},
    "padding_mode": ["zeros", "border", "reflection"],
    "coordinate_transformation_mode": {
        "RoiAlign": ["half_pixel", "output_half_pixel"],
        None: ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
               "half_pixel_symmetric"]},
    "nearest_mode": ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"],
    "approximate": ["none", "tanh"], "norm": ["MAX", "L1", "L2"],
    "activation": ["Relu", "Tanh", "Sigmoid", "LeakyRelu"],
    "keep_aspect_ratio_policy": ["stretch", "not_larger", "not_smaller"],
    "case_change_action": ["NONE", "LOWER", "UPPER"],
    "metric": ["euclidean", "sqeuclidean"], "post_transform": ["NONE", "SOFTMAX", "LOGISTIC"],
    "activation_type": ["relu", "gelu", "silu", "identity"],
    "round_mode": ["nearest", "up", "down"],
}
# Attributes that are numbers of a range.
NUMBERS = {
    "keepdims": (0, 1), "noop_with_empty_axes": (0, 1), "transA": (0, 1), "transB": (0, 1),
    "ceil_mode": (0, 1), "count_include_pad": (0, 1), "exclusive": (0, 1), "reverse": (0, 1),
    "select_last_index": (0, 1), "largest": (0, 1), "sorted": (1, 1), "upper": (0, 1),
    "align_corners": (0, 1), "center_point_box": (0, 1), "linear_before_reset": (0, 1),
    "allowzero": (0, 1), "fmod": (0, 1), "onesided": (0, 1), "periodic": (0, 1), "p": (1, 2),
    "is_causal": (0, 1), "interleaved": (0, 1), "storage_order": (0, 1), "stash_type": (1, 1),
    "detect_negative": (0, 1), "detect_positive": (0, 1), "exclude_outside": (0, 1),
    "ignore_index": (-1, 2), "k": (-3, 3), "output_height": (1, 3), "output_width": (1, 3),
    "sampling_ratio": (0, 2), "size": (1, 5), "inverse": (0, 1), "channels_last": (0, 0),
    "antialias": (0, 1), "saturate": (0, 1), "input_forget": (0, 1), "new_axis": (0, 1),
    "clip": None, "seed": None, "layout": (0, 0), "hidden_size": None, "precision": None,
    "softmax_precision": None, "training_mode": (0, 0), "batch_dims": (0, 0), "output_dtype": None,
    "start": (-3, 3), "end": (-3, 3), "spatial": None, "consumed_inputs": None,
    "activations": None, "activation_alpha": None, "activation_beta": None, "body": None,
    "use_sparse_mixer": (0, 0), "normalize_routing_weights": (0, 1), "swiglu_fusion": (0, 0),
    "swiglu_limit_after_activation": None, "embedding_size": None, "conv_window_size": None,
    "char_embedding_size": None, "signal_ndim": (1, 1), "normalized": (0, 0),
    "min_ngram_size": (1, 2), "max_ngram_size": (2, 4),
    "qk_matmul_output_mode": (0, 0), "q_num_heads": None, "kv_num_heads": None,
    "state_window": None, "ndim": (1, 1), "dilation": (1, 3), "num_branches": None,
    "n_group": (1, 1), "topk_group": (1, 1), "group_topk": (1, 3), "top_k": (1, 2),
    "mrope_layout": (0, 1), "rotary_embedding_dim": None, "num_heads": None,
    "is_packed_batching": (0, 0), "input_channel_offset": None, "input_channels": None,
    "state_channels_last": None, "state_length": None, "state_update_capacity": None,
}
