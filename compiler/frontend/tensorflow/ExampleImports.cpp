//===- ExampleImports.cpp - serialized examples ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One kernel of the runtime parses examples, another one sequence examples
// (runtime/include/weir/kernels.h). The versions of the operations differ in
// where keys come from: attributes, scalars, or vectors.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/InputImports.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {

/// Collects the results and the attributes of a call of a parsing kernel.
class Parse {
public:
  Parse(NodeImport &n, Value serialized)
      : n(n), isBatch(n.rank(serialized) == 1), batch(n.dim(serialized, 0)) {}

  SmallVector<Type> types;
  SmallVector<int64_t> attributes;

  /// What a node says of its features by attributes, none after a report.
  std::optional<SmallVector<Type>> elements(std::string_view attr);
  std::optional<SmallVector<IntVector>> shapes(std::string_view attr);

  void sparse(ArrayRef<Type> elements, int64_t extraRank = 0);
  /// Dense values, behind `outer` sizes.
  void dense(ArrayRef<Type> elements, ArrayRef<IntVector> shapes, Ints outer);
  void describe(ArrayRef<IntVector> shapes);
  void vectors(ArrayRef<Type> elements) {
    for (Type element : elements)
      add({ShapedType::kDynamic}, element);
  }
  void splits(ArrayRef<Type> elements, bool isScalar) {
    for (Type element : elements)
      isScalar ? add({}, element) : add({isBatch && batch >= 0 ? batch + 1 : kOpen}, element);
  }
  void add(Ints shape, Type element) { types.push_back(RankedTensorType::get(shape, element)); }

  /// The sizes of the batch's dimension: one, or none.
  IntVector outer() const { return isBatch ? IntVector{batch} : IntVector(); }

  static constexpr int64_t kOpen = ShapedType::kDynamic;
  NodeImport &n;
  const bool isBatch;
  const int64_t batch;
};

} // namespace

std::optional<SmallVector<Type>> Parse::elements(std::string_view attr) {
  SmallVector<Type> result;
  const AttrValue *given = n.attr(attr);
  if (given && given->list)
    for (int64_t number : given->list->ints) {
      Type type = elementType(n.b.getContext(), toDataType(number));
      if (!type) {
        (void)n.unsupported("found features of a type that weir does not have");
        return std::nullopt;
      }
      result.push_back(type);
    }
  return result;
}

std::optional<SmallVector<IntVector>> Parse::shapes(std::string_view attr) {
  SmallVector<IntVector> result;
  const AttrValue *given = n.attr(attr);
  if (given && given->list)
    for (const Shape &shape : given->list->shapes) {
      if (shape.unknownRank) {
        (void)n.unsupported("found a dense feature of unknown rank");
        return std::nullopt;
      }
      IntVector sizes(shape.dims.begin(), shape.dims.end());
      for (auto [d, size] : llvm::enumerate(sizes))
        if (size < 0 && d > 0) {
          (void)n.invalid("found a dense feature whose dimension " + Twine(d) +
                          " is open; only the first one may be");
          return std::nullopt;
        }
      IntVector known(sizes);
      for (int64_t &size : known)
        size = size < 0 ? kOpen : size;
      if (!frontend::canBe(known)) {
        (void)n.invalid("found a dense feature of a size that no tensor can have");
        return std::nullopt;
      }
      result.push_back(std::move(sizes));
    }
  return result;
}

void Parse::sparse(ArrayRef<Type> elements, int64_t extraRank) {
  int64_t rank = extraRank + (isBatch ? 2 : 1);
  Type index = n.b.getI64Type();
  for (size_t i = 0; i < elements.size(); ++i)
    add({kOpen, rank}, index);
  vectors(elements);
  for (size_t i = 0; i < elements.size(); ++i)
    add({rank}, index);
}

void Parse::dense(ArrayRef<Type> elements, ArrayRef<IntVector> shapes, Ints outer) {
  for (auto [element, shape] : llvm::zip(elements, shapes)) {
    IntVector sizes(outer);
    for (int64_t size : shape)
      sizes.push_back(size < 0 ? kOpen : size);
    add(sizes, element);
  }
}

void Parse::describe(ArrayRef<IntVector> shapes) {
  for (const IntVector &shape : shapes) {
    attributes.push_back(int64_t(shape.size()));
    attributes.append(shape.begin(), shape.end());
  }
}

/// Keys that are inputs [first, first + count), scalars.
static Value keysFrom(NodeImport &n, size_t first, size_t count) {
  if (count == 0)
    return n.strings({});
  SmallVector<Value> scalars = n.tensors(first, first + count);
  for (Value &scalar : scalars)
    scalar = scalar ? n.reshape(scalar, {}) : Value();
  return scalars.empty() ? Value() : n.stack(scalars, 0);
}

/// Keys that an attribute lists.
static Value keysFrom(NodeImport &n, std::string_view attr) {
  SmallVector<StringRef> keys;
  const AttrValue *given = n.attr(attr);
  if (given && given->list)
    for (std::string_view key : given->list->strings)
      keys.emplace_back(key.data(), key.size());
  return n.strings(keys);
}

static bool isSerialized(NodeImport &n, Value serialized) {
  if (!serialized)
    return false;
  if (n.isString(serialized) && n.rank(serialized) >= 0 && n.rank(serialized) <= 1)
    return true;
  (void)n.invalid("expected one serialized example or a vector of them, got rank " +
                  Twine(n.rank(serialized)));
  return false;
}

static bool isMatched(NodeImport &n, size_t types, size_t shapes) {
  if (types == shapes)
    return true;
  (void)n.invalid("found " + Twine(types) + " dense features and " + Twine(shapes) + " shapes");
  return false;
}

/// Where the operations have what they say.
enum class Version { Single, First, Second };

template <Version version> static LogicalResult parseExample(NodeImport &n) {
  Value serialized = n.in(0);
  if (!isSerialized(n, serialized))
    return failure();
  Parse parse(n, serialized);
  auto sparse = parse.elements("sparse_types"), dense = parse.elements("Tdense");
  auto shapes = parse.shapes("dense_shapes");
  auto ragged = parse.elements("ragged_value_types"), splits = parse.elements("ragged_split_types");
  if (!sparse || !dense || !shapes || !ragged || !splits ||
      !isMatched(n, dense->size(), shapes->size()))
    return failure();
  if (version != Version::Second && version == (parse.isBatch ? Version::Single : Version::First))
    return n.invalid(parse.isBatch ? "expected one example, got several"
                                   : "expected a vector of examples, got one");
  SmallVector<Value> operands{serialized};
  size_t defaults;
  if (version == Version::Second) {
    for (size_t i = 1; i < 5; ++i)
      operands.push_back(n.in(i));
    defaults = 5;
  } else if (version == Version::First) {
    operands.push_back(n.in(1));
    operands.push_back(keysFrom(n, 2, sparse->size()));
    operands.push_back(keysFrom(n, 2 + sparse->size(), dense->size()));
    operands.push_back(n.strings({}));
    defaults = 2 + sparse->size() + dense->size();
  } else {
    operands.push_back(n.strings({}));
    operands.push_back(keysFrom(n, "sparse_keys"));
    operands.push_back(keysFrom(n, "dense_keys"));
    operands.push_back(n.strings({}));
    defaults = 1;
  }
  for (size_t i = defaults; i < n.inputCount(); ++i)
    operands.push_back(n.in(i));
  parse.attributes = {int64_t(sparse->size()), int64_t(dense->size()), int64_t(ragged->size())};
  parse.describe(*shapes);
  parse.sparse(*sparse);
  parse.dense(*dense, *shapes, parse.outer());
  parse.vectors(*ragged);
  for (Type element : *splits)
    parse.add({!parse.isBatch     ? 0
               : parse.batch >= 0 ? parse.batch + 1
                                  : ShapedType::kDynamic},
              element);
  Operation *made =
      n.kernelCall("weir_kernel_parse_example", parse.types, operands, parse.attributes);
  return made ? n.results(SmallVector<Value>(made->getResults())) : failure();
}

template <Version version> static LogicalResult parseSequenceExample(NodeImport &n) {
  constexpr bool isSingle = version == Version::Single;
  Value serialized = n.in(0);
  if (!isSerialized(n, serialized))
    return failure();
  Parse parse(n, serialized);
  if (isSingle && parse.isBatch)
    return n.invalid("expected one example, got several");
  auto sparse = parse.elements("context_sparse_types"), dense = parse.elements("Tcontext_dense");
  auto shapes = parse.shapes("context_dense_shapes");
  auto ragged = parse.elements("context_ragged_value_types");
  auto splits = parse.elements("context_ragged_split_types");
  auto listSparse = parse.elements("feature_list_sparse_types");
  auto listDense = parse.elements("feature_list_dense_types");
  auto listShapes = parse.shapes("feature_list_dense_shapes");
  auto listRagged = parse.elements("feature_list_ragged_value_types");
  auto listSplits = parse.elements("feature_list_ragged_split_types");
  if (!sparse || !dense || !shapes || !ragged || !splits || !listSparse || !listDense ||
      !listShapes || !listRagged || !listSplits || !isMatched(n, dense->size(), shapes->size()) ||
      !isMatched(n, listDense->size(), listShapes->size()))
    return failure();
  for (ArrayRef<IntVector> all : {ArrayRef(*shapes), ArrayRef(*listShapes)})
    for (const IntVector &shape : all)
      if (!shape.empty() && shape[0] < 0)
        return n.invalid("found a dense feature with an open dimension; in sequence examples "
                         "sizes are known");
  SmallVector<Value> operands{serialized};
  size_t defaults;
  if (version == Version::Second) {
    for (size_t i = 1; i < 9; ++i)
      operands.push_back(n.in(i));
    defaults = 9;
  } else if (version == Version::First) {
    operands.push_back(n.in(1));
    operands.push_back(keysFrom(n, "context_sparse_keys"));
    operands.push_back(keysFrom(n, "context_dense_keys"));
    operands.push_back(n.strings({}));
    operands.push_back(keysFrom(n, "feature_list_sparse_keys"));
    operands.push_back(keysFrom(n, "feature_list_dense_keys"));
    operands.push_back(n.strings({}));
    operands.push_back(keysFrom(n, "feature_list_dense_missing_assumed_empty"));
    defaults = 2;
  } else {
    size_t at = 2, lists = at + sparse->size() + dense->size();
    defaults = lists + listSparse->size() + listDense->size();
    operands.push_back(n.in(defaults + dense->size()));
    operands.push_back(keysFrom(n, at, sparse->size()));
    operands.push_back(keysFrom(n, at + sparse->size(), dense->size()));
    operands.push_back(n.strings({}));
    operands.push_back(keysFrom(n, lists, listSparse->size()));
    operands.push_back(keysFrom(n, lists + listSparse->size(), listDense->size()));
    operands.push_back(n.strings({}));
    operands.push_back(n.in(1));
  }
  for (size_t i = 0; i < dense->size(); ++i)
    operands.push_back(n.in(defaults + i));
  for (const auto *list : {&*sparse, &*dense, &*ragged, &*listSparse, &*listDense, &*listRagged})
    parse.attributes.push_back(int64_t(list->size()));
  parse.attributes.push_back(!isSingle);
  parse.describe(*shapes);
  parse.describe(*listShapes);
  IntVector outer = parse.outer(), frames = outer;
  frames.push_back(ShapedType::kDynamic);
  parse.sparse(*sparse);
  parse.dense(*dense, *shapes, outer);
  parse.vectors(*ragged);
  parse.splits(*splits, /*isScalar=*/!parse.isBatch);
  parse.sparse(*listSparse, /*extraRank=*/1);
  parse.dense(*listDense, *listShapes, frames);
  if (!isSingle)
    for (size_t i = 0; i < listDense->size(); ++i)
      parse.add(outer, n.b.getI64Type());
  parse.vectors(*listRagged);
  parse.splits(*listSplits, /*isScalar=*/!parse.isBatch);
  parse.vectors(*listSplits);
  Operation *made =
      n.kernelCall("weir_kernel_parse_sequence_example", parse.types, operands, parse.attributes);
  return made ? n.results(SmallVector<Value>(made->getResults())) : failure();
}

static LogicalResult decodeJsonExample(NodeImport &n) {
  Value texts = n.in(0);
  if (!texts)
    return failure();
  return n.result(
      n.kernelCall("weir_kernel_decode_json_example", {texts.getType()}, {texts})->getResult(0));
}

ArrayRef<OpImport> weir::tf::exampleImports() {
  static const OpImport rows[] = {
      {"DecodeJSONExample", decodeJsonExample},
      {"ParseExample", parseExample<Version::First>},
      {"ParseExampleV2", parseExample<Version::Second>},
      {"ParseSequenceExample", parseSequenceExample<Version::First>},
      {"ParseSequenceExampleV2", parseSequenceExample<Version::Second>},
      {"ParseSingleExample", parseExample<Version::Single>},
      {"ParseSingleSequenceExample", parseSequenceExample<Version::Single>},
  };
  return rows;
}
