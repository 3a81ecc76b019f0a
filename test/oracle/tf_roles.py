#===- tf_roles.py - What arguments of TensorFlow operations have to be like ---===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Rules in the language of onnx_roles.py. RULES is by operation: a regular expression of
names, so that a family is one line; the first that matches counts. Arguments that a rule
does not list go by their name (BY_NAME), others are broadcast to the first."""

FACTOR = "B...,M,M"
RULES = [
    ("MatMul|_FusedMatMul", "a[M,K]{transpose_a} b[K,N]{transpose_b} args[N]"),
    ("SparseMatMul", "a[M,K]{transpose_a} b[K,N]{transpose_b}"),
    ("BatchMatMul|BatchMatMulV2|BatchMatMulV3", "x[B...,M,K]{adj_x} y[B...,K,N]{adj_y}"),
    ("Conv2D|_FusedConv2D", "input[N,H,W,C*g] filter[k,l,C,M*g] args[M*g]"),
    ("Conv3D", "input[N,D,H,W,C] filter[k,l,m,C,M]"),
    ("DepthwiseConv2dNative", "input[N,H,W,C] filter[k,l,C,c]"),
    ("Conv2DBackpropInput|Conv2DBackpropFilter|Conv3DBackprop.*|Depthwise.*Backprop.*|.*PoolGrad.*"
     "|Dilation2DBackprop.*|.*Pool3DGrad.*|Fractional.*", None),
    ("Dilation2D", "input[N,H,W,C] filter[k,l,C]"),
    ("AvgPool|MaxPool|MaxPoolV2|MaxPoolWithArgmax", "value[N,H,W,C] input[N,H,W,C] ksize[4]:window strides[4]:window"),
    ("AvgPool3D|MaxPool3D", "input[N,D,H,W,C]"),
    ("BiasAdd|BiasAddV1", "value[R...,C] bias[C]"), ("BiasAddGrad", "out_backprop[R...,C]"),
    ("FusedBatchNorm(V2|V3)?", "x[N,H,W,C] scale[C] offset[C] mean[C] variance[C]:positive"),
    ("FusedBatchNormGrad(V2|V3)?", "y_backprop[N,H,W,C] x[N,H,W,C] scale[C] reserve_space_1[C]"
     " reserve_space_2[C]:positive reserve_space_3[C]"),
    ("BatchNormWithGlobalNormalization", "t[N,H,W,C] m[C] v[C]:positive beta[C] gamma[C]"),
    ("LRN", "input[N,H,W,C]"), ("LRNGrad", "input_grads[N,H,W,C] input_image[N,H,W,C] output_image[N,H,W,C]"),
    ("Softmax|LogSoftmax", "logits[R...,C]"),
    ("SoftmaxCrossEntropyWithLogits", "features[N,C]~ labels[N,C]"),
    ("SparseSoftmaxCrossEntropyWithLogits", "features[N,C] labels[N]:index=C"),
    ("(Batch)?(Cholesky|MatrixInverse|MatrixDeterminant|LogMatrixDeterminant|MatrixSquareRoot"
     "|Lu|MatrixLogarithm)", "input[%s]:spd" % FACTOR),
    ("MatrixExponential", "input[%s]:unit" % FACTOR),
    ("(Batch)?(MatrixSolve)", "matrix[%s]:spd rhs[B...,M,N]" % FACTOR),
    ("(Batch)?(MatrixTriangularSolve)", "matrix[%s]:spd rhs[B...,M,N]" % FACTOR),
    ("(Batch)?(CholeskyGrad)|(Batch)?SelfAdjointEig(V2)?|Eig|Svd|BatchSvd|Qr|MatrixSolveLs|BatchMatrixSolveLs|Banded.*", None),
    ("TridiagonalMatMul", "superdiag[B...,1,M] maindiag[B...,1,M] subdiag[B...,1,M] rhs[B...,M,N]"),
    ("TridiagonalSolve", "diagonals[B...,3,M]:positive rhs[B...,M,N]"),
    ("(Batch)?MatrixBandPart", "input[B...,M,N] num_lower[]:offset num_upper[]:offset"),
    ("(Batch)?MatrixDiagPart", "input[B...,M,N]"), ("(Batch)?MatrixDiag", "diagonal[B...,M]"),
    ("(Batch)?MatrixSetDiag", "input[B...,M,M] diagonal[B...,M]"),
    ("MatrixDiagPartV.", "input[B...,M,N] k[]:offset padding_value[]"),
    ("MatrixDiagV.", "diagonal[B...,M] k[]:offset num_rows[]:minus num_cols[]:minus padding_value[]"),
    ("MatrixSetDiagV.", "input[B...,M,M] diagonal[B...,M] k[]:zeros"),
    ("Diag|DiagPart", "diagonal[k,b] input[k,b,k,b]"),
    ("Gather", "params[V,T...] indices[P...]:index=V"),
    ("GatherV2", "params[R...] indices[P...]:index#axis axis[]:axis"),
    ("GatherNd", "params[V,T...] indices[P...,1]:index=V"),
    ("ScatterNd", "indices[P,1]:index=V updates[P,T...] shape[]:scattered"),
    ("ScatterNdNonAliasingAdd", "input[V,T...] indices[P,1]:index=V updates[P,T...]"),
    ("TensorScatter.*", "tensor[V,T...] indices[P,1]:unique=V updates[P,T...]"),
    ("(Sparse)?Segment(Sum|Mean|Max|Min|Prod)", "data[P,T...] segment_ids[P]:sorted indices[P]:index=P"),
    ("SparseSegmentSqrtN", "data[P,T...] indices[P]:index=P segment_ids[P]:sorted"),
    ("SparseSegment.*Grad.*", "grad[P,T...] indices[P]:index=P segment_ids[P]:index=P output_dim0[]:size=P dense_output_dim0[]:size=P"),
    ("SparseSegment.*WithNumSegments", "data[P,T...] indices[P]:index=P segment_ids[P]:sorted num_segments[]:many"),
    ("UnsortedSegmentJoin", "inputs[P] segment_ids[P]:index=V num_segments[]:size=V"),
    ("UnsortedSegment.*", "data[P,T...] segment_ids[P]:index=V num_segments[]:size=V"),
    ("OneHot", "indices[R...]:any=9 depth[]:small on_value[] off_value[]"),
    ("Where", "input[R...]"),
    ("Select", "condition[R...] t[R...] e[R...]"),
    ("SelectV2", "condition[R...]~ t[R...]~ e[R...]~"),
    ("TopK|TopKV2", "input[B...,N] k[]:count=N"), ("NthElement", "input[B...,N] n[]:below=N"),
    ("InTopK|InTopKV2", "predictions[N,C] targets[N]:index=C k[]:small"),
    ("Pad|PadV2", "input[R...] paddings[#,2]:pads constant_values[]"),
    ("MirrorPad", "input[R...] paddings[#,2]:bit"), ("MirrorPadGrad", "input[R...] paddings[#,2]:zeros"),
    ("Tile", "input[R...] multiples[#]:repeats"),
    ("Slice", "input[R...] begin[#]:start size[#]:extent"),
    ("StridedSlice", "input[R...] begin[#]:any=9 end[#]:any=9 strides[#]:steps"),
    ("StridedSliceGrad", None),
    ("Reshape", "tensor[R...] shape[]:reshape"), ("BroadcastTo", "input[R...]~ shape[]:full"),
    ("Fill", "dims[k]:sizes value[]"), ("Range", "start[]:even limit[]:even delta[]:step"),
    ("LinSpace", "start[] stop[] num[]:positives"),
    ("ExpandDims", "input[R...] dim[]:newaxis"), ("Squeeze", "input[R...]"),
    ("Concat", "concat_dim[]:zeros values[R...]"), ("ConcatV2", "values[R...] axis[]:axis"),
    ("Pack", "values[R...]"), ("Unpack", "value[R...]"), ("ParallelConcat", None),
    ("Split", "split_dim[]:zeros value[V*b,T...]"), ("SplitV", "value[b*b,T...] size_splits[b]:b split_dim[]:zeros"),
    ("Transpose|ConjugateTranspose", "x[R...] perm[#]:every"),
    ("InvertPermutation", "x[V]:permutation"),
    ("ReverseV2", "tensor[R...] axis[]:axes"), ("Reverse", "tensor[R...] dims[#]:mask"),
    ("ReverseSequence", "input[N,L,T...] seq_lengths[N]:length=L"),
    ("Roll", "input[R...] shift[]:offset axis[]:axis"),
    ("Cum.*", "x[R...] axis[]:axis"),
    ("(Space|Depth)To(Depth|Space)", "input[N,H*b,W*b,C*b*b]"),
    ("SpaceToBatchND", "input[N,2*H,T...] block_shape[1]:two paddings[1,2]:zeros"),
    ("BatchToSpaceND", "input[2*N,H,T...] block_shape[1]:two crops[1,2]:zeros"),
    ("SpaceToBatch", "input[N,2*H,2*W,C] paddings[2,2]:zeros"),
    ("BatchToSpace", "input[4*N,H,W,C] crops[2,2]:zeros"),
    ("FFT|IFFT", "input[B...,N]"), ("FFT2D|IFFT2D", "input[B...,M,N]"),
    ("FFT3D|IFFT3D", "input[B...,L,M,N]"),
    ("BatchI?FFT", "input[B...,N]"), ("BatchI?FFT2D", "input[B...,M,N]"), ("BatchI?FFT3D", "input[B...,L,M,N]"),
    ("RFFT", "input[B...,N] fft_length[1]:lasts"), ("RFFT2D", "input[B...,M,N] fft_length[2]:lasts"),
    ("IRFFT", "input[B...,N] fft_length[1]:lasts"), ("IRFFT2D", "input[B...,M,N] fft_length[2]:lasts"),
    ("Resize(Bilinear|NearestNeighbor|Bicubic|Area)", "images[N,H,W,C] size[2]:positives"),
    ("ResizeBilinearGrad|ResizeBicubicGrad", "grads[N,H,W,C] original_image[N,M,L,C]"),
    ("ResizeNearestNeighborGrad", "grads[N,H,W,C] size[2]:positives"),
    ("CropAndResize", "image[N,H,W,C] boxes[Q,4]:boxes box_ind[Q]:index=N crop_size[2]:positives"),
    ("ExtractImagePatches", "images[N,H,W,C]"), ("RGBToHSV|HSVToRGB", "images[R...,3]:unit"),
    ("AdjustContrast.*", "images[N,H,W,C] contrast_factor[]:unit min_value[]:zeros max_value[]:scale"),
    ("AdjustHue", "images[N,H,W,3]:unit delta[]:unit"), ("AdjustSaturation", "images[N,H,W,3]:unit scale[]:unit"),
    ("NonMaxSuppression.*", "boxes[Q,4]:boxes overlaps[Q,Q]:unit scores[Q]:unit max_output_size[]:small"
     " iou_threshold[]:unit overlap_threshold[]:unit score_threshold[]:unit soft_nms_sigma[]:zeros"),
    ("DynamicPartition", "data[P,T...] partitions[P]:bit"),
    ("(Parallel)?DynamicStitch", "indices[P]:small data[P,T...]"),
    ("Bincount|DenseBincount", "arr[P]:small size[]:small input[P]:small weights[P]"),
    ("UniqueV2|UniqueWithCountsV2", "x[V] axis[k]:zeros"), ("Unique|UniqueWithCounts", "x[V]"),
    ("ListDiff", "x[V] y[P]"), ("LowerBound|UpperBound", "sorted_inputs[N,M]:sorted values[N,P]"),
    ("(Quantized|Requantiz|Quantize|Dequantize|Uniform|FakeQuant).*", "inputs[R...,C] input[R...] min[]:low max[]:high"
     " min_range[]:low max_range[]:high gradients[R...,C] input_min[]:low input_max[]:high"),
    ("Cross", "a[R...,3] b[R...,3]"), ("Betainc", "a[R...]:positive b[R...]:positive x[R...]:unit"),
    ("Igamma.*", "a[R...]~:positive x[R...]~:positive"), ("Zeta", "x[R...]~:positive q[R...]~:positive"),
    ("Polygamma", "a[R...]~:small x[R...]~:positive"),
    ("Erfinv|Ndtri", "x[R...]:unit"),
    ("SparseToDense", "sparse_indices[P,2]:rising output_shape[2]:nine sparse_values[P] default_value[]"),
    ("SparseTensorDenseMatMul", "a_indices[P,2]:rising a_values[P] a_shape[2]:nine b[9,N]"),
    ("SparseTensorDenseAdd", "a_indices[P,2]:rising a_values[P] a_shape[2]:nine b[9,9]"),
    ("SparseReduce.*", "input_indices[P,2]:rising input_values[P] input_shape[2]:nine reduction_axes[]:bit"),
    ("SparseReorder", "input_indices[P,2]:rising input_values[P] input_shape[2]:nine"),
    ("SparseFillEmptyRows", "indices[P,2]:rising values[P] dense_shape[2]:nine default_value[]"),
    ("SparseSoftmax", "sp_indices[P,2]:rising sp_values[P] sp_shape[2]:nine"),
    ("SparseDenseCwise.*", "sp_indices[P,2]:rising sp_values[P] sp_shape[2]:nine dense[9,9]"),
    ("SparseAdd", "a_indices[P,2]:rising a_values[P] a_shape[2]:nine b_indices[Q,2]:rising b_values[Q]"
     " b_shape[2]:nine thresh[]:zeros"),
    ("SparseSparse.*", "a_indices[P,2]:rising a_values[P] a_shape[2]:nine b_indices[Q,2]:rising b_values[Q]"
     " b_shape[2]:nine"),
    ("SparseSlice", "indices[P,2]:rising values[P] shape[2]:nine start[2]:small size[2]:small"),
    ("Sparse.*|Ragged.*|CTC.*|EditDistance|.*SetOperation|SetSize|Mfcc|Audio.*|Quantized.*|.*BlockCell.*"
     "|BlockLSTM.*|Stateless(If|Case|While)|For|PartitionedCall|Symbolic.*|Enter|Exit|NextIteration"
     "|Merge|Switch|LoopCond|Placeholder.*|Const|HostConst|.*Summary|Copy.*|Debug.*|StringNGrams"
     "|FusedPad.*|FusedResize.*|Unicode.*|Nearest.*|HistogramFixedWidth|Isotonic.*"
     "|StatelessRandom(Gamma|Binomial|GetKey).*|StatelessShuffle|Random.*|.*Projective.*|ExtractGlimpse.*"
     "|ExtractVolume.*|Scale.*|DrawBounding.*|CropAndResizeGrad.*|TensorList.*", None),
    ("StatelessMultinomial", "logits[N,C] num_samples[]:small seed[2]:small"),
    ("StatelessRandomUniformInt", "shape[k]:sizes seed[2]:small minval[]:zeros maxval[]:hundred"),
    ("Stateless.*V2|StatelessRandomUniformFullIntV2", None),
    ("Stateless.*", "shape[k]:sizes seed[2]:small"),
    ("ClipByValue", "t[R...] clip_value_min[]:low clip_value_max[]:high"),
    ("(Left|Right)Shift", "x[R...]~ y[R...]~:small"),
    ("Substr", "input[R...] pos[]:zeros len[]:small"),
    ("ReduceJoin", "inputs[R...] reduction_indices[]:axes"), ("StringJoin", "inputs[R...]"),
    ("StringSplit.*|Decode.*|RegexReplace|RegexFullMatch|StaticRegex.*|Fingerprint", None),
    ("ArgMax|ArgMin", "input[R...] dimension[]:axis"),
    ("Shape.*|Rank|Size", "input[R...]"), ("EnsureShape", "input[R...]"), ("Bitcast", "input[R...,8]"),
    ("BroadcastArgs|BroadcastGradientArgs", "s0[k]:ones1 s1[k]:ones1"),
    ("ConcatOffset", None), ("Inplace.*", "x[V,T...] i[P]:unique=V v[P,T...]"),
    ("DataFormatDimMap", "x[R...]:any=3"), ("DataFormatVecPermute", "x[4]:small"),
    ("GRUBlockCell.*", None), ("TemporaryVariable", None), ("Einsum", ""),
]

BY_NAME = {
    "reduction_indices": "reduction_indices[]:axes", "axis": "axis[]:axis",
    "shape": "shape[]:full", "seed": "seed[2]:small",
}

# Attributes of numbers and lists.
NUMBERS = {
    "N": None, "transpose_a": (0, 1), "block_size": None, "num_bits": (4, 8), "rounds": (4, 4),
    "num_split": None, "k": (0, 2), "depth_radius": (1, 3), "precision": (-1, 4), "width": (-1, 12),
    "num_partitions": (2, 3), "num": None, "batch_dims": (0, 0), "seq_dim": (1, 1), "batch_dim": (0, 0),
    "begin_mask": (0, 15), "end_mask": (0, 15), "ellipsis_mask": (0, 0), "new_axis_mask": (0, 1),
    "shrink_axis_mask": (0, 1), "blank_index": None, "num_buckets": (1, 1000), "axis": None,
    "squeeze_dims": None,
}
