"""Writes the GraphDef of tensorflow.test as text, alone or in a SavedModel with a
signature for each node that is tested; prints weirc's flags for either."""
import sys

TYPES = {"f32": "DT_FLOAT", "i32": "DT_INT32"}
FEEDS = {"x": ("f32", [4, 3]), "x8": ("i32", [8]), "x43": ("f32", [4, 3]), "x23": ("f32", [2, 3]),
         "i2": ("i32", [2]), "i22": ("i32", [2, 2]), "i21": ("i32", [2, 1]), "i8": ("i32", [8]),
         "i": ("i32", []), "i1": ("i32", [1]), "i3": ("i32", [3]), "i4": ("i32", [4]),
         "x1441": ("f32", [2, 4, 4, 1]), "x24": ("f32", [2, 4]), "x2": ("f32", [2])}
CONSTANTS = {"axis": ([], [1]), "sizes": ([2], [1, 2]), "shape": ([2], [4, 3]),
             "step": ([1], [1]), "last": ([1], [4])}
# node: operation, inputs, attributes
NODES = {
    "gather": ("GatherV2", ["x", "i2", "axis"], "Tparams f32 Tindices i32 Taxis i32"),
    "gather_nd": ("GatherNd", ["x", "i22"], "Tparams f32 Tindices i32"),
    "scatter_nd": ("ScatterNd", ["i21", "x23", "shape"], "T f32 Tindices i32"),
    "update": ("TensorScatterUpdate", ["x", "i21", "x23"], "T f32 Tindices i32"),
    "add": ("TensorScatterAdd", ["x", "i21", "x23"], "T f32 Tindices i32"),
    "slice": ("Slice", ["x", "i2", "sizes"], "T f32 Index i32"),
    "top_k": ("TopKV2", ["x", "i"], "T f32"),
    "subtract": ("TensorScatterSub", ["x", "i21", "x23"], "T f32 Tindices i32"),
    "least": ("TensorScatterMin", ["x", "i21", "x23"], "T f32 Tindices i32"),
    "one_index": ("StridedSlice", ["x", "i1", "last", "step"],
                  "T f32 Index i32 shrink_axis_mask 1"),
    "lengths": ("ReverseSequence", ["x", "i3"], "T f32 Tlen i32 seq_dim 0 batch_dim 1"),
    "partition": ("DynamicPartition", ["x", "i4"], "T f32 num_partitions 2"),
    "dense": ("SparseToDense", ["i22", "shape", "x2", "zero"], "T f32 Tindices i32 validate_indices 0"),
    "crop": ("CropAndResize", ["x1441", "x24", "i2", "sizes"], "T f32"),
    "labels": ("SparseSoftmaxCrossEntropyWithLogits", ["x", "i4"], "T f32 Tlabels i32"),
    "nth": ("NthElement", ["x", "i"], "T f32"),
    "zero_div": ("Div", ["x8", "i8"], "T i32"),
    "zero_floor_div": ("FloorDiv", ["x8", "i8"], "T i32"),
    "zero_floor_mod": ("FloorMod", ["x8", "i8"], "T i32"),
    "zero_truncate_div": ("TruncateDiv", ["x8", "i8"], "T i32"),
    "zero_truncate_mod": ("TruncateMod", ["x8", "i8"], "T i32"),
}


def shape(sizes):
    return " ".join("dim { size: %d }" % s for s in sizes)


def value_of(word):
    """An attribute's value: a type, a boolean or a number."""
    return "type: " + TYPES[word] if word in TYPES else "i: " + word


def attribute(name, value):
    return 'attr { key: "%s" value { %s } }' % (name, value)


def feeds_of(node):
    return [i for i in NODES[node][1] if i in FEEDS]


def graph():
    lines = []
    for name, (kind, sizes) in FEEDS.items():
        lines.append('node { name: "%s" op: "Placeholder" %s %s }' % (
            name, attribute("dtype", "type: " + TYPES[kind]),
            attribute("shape", "shape { %s }" % shape(sizes))))
    for name, (sizes, values) in CONSTANTS.items():
        lines.append('node { name: "%s" op: "Const" %s %s }' % (
            name, attribute("dtype", "type: DT_INT32"),
            attribute("value", "tensor { dtype: DT_INT32 tensor_shape { %s } %s }" % (
                shape(sizes), " ".join("int_val: %d" % v for v in values)))))
    lines.append('node { name: "zero" op: "Const" %s %s }' % (
        attribute("dtype", "type: DT_FLOAT"),
        attribute("value", "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0 }")))
    for name, (operation, inputs, attributes) in NODES.items():
        words = attributes.split()
        lines.append('node { name: "%s" op: "%s" %s %s }' % (
            name, operation, " ".join('input: "%s"' % i for i in inputs),
            " ".join(attribute(a, "b: false" if a == "validate_indices" else value_of(t)) for a, t in zip(words[::2], words[1::2]))))
    return "\n".join(lines) + "\nversions { producer: 1000 }\n"


def tensor_info(name, kind, sizes):
    return 'name: "%s:0" dtype: %s tensor_shape { %s }' % (
        name, TYPES[kind], "unknown_rank: true" if sizes is None else shape(sizes))


def signature(node):
    kind = "i32" if node in ("zero_div",) or "T i32" in NODES[node][2] else "f32"
    inputs = " ".join('inputs { key: "%s" value { %s } }' % (f, tensor_info(f, *FEEDS[f]))
                      for f in feeds_of(node))
    return 'signature_def { key: "%s" value { %s outputs { key: "y" value { %s } } ' \
           'method_name: "tensorflow/serving/predict" } }' % (
               node, inputs, tensor_info(node, kind, None))


def main(kind, path):
    with open(path, "w") as out:
        if kind == "graph":
            out.write(graph())
            print(" ".join("--entry=%s %s --fetch=%s" % (
                n, " ".join("--feed=" + f for f in feeds_of(n)), n) for n in NODES))
        else:
            out.write('saved_model_schema_version: 1\nmeta_graphs {\n'
                      'meta_info_def { tags: "serve" }\ngraph_def {\n%s}\n%s\n}\n' % (
                          graph(), "\n".join(signature(n) for n in NODES)))
            print(" ".join("--entry=%s=%s" % (n, n) for n in NODES))


main(sys.argv[1], sys.argv[2])
