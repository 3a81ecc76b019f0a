//===- DatasetImports.cpp - data sets -------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/Datasets.h"
#include "compiler/frontend/tensorflow/Queues.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

namespace {

/// What a data set is made of.
struct Parts {
  DatasetKind kind;
  int64_t option = 0;
  SmallVector<Value> inputs = {};
  const DatasetFunction *function = nullptr;
  SmallVector<Value> parameters = {};
};

} // namespace

static Value makeValue(NodeImport &n, const Parts &parts, const Components &elements) {
  SmallVector<Value> operands(parts.inputs);
  SmallVector<int64_t> attributes = {int64_t(parts.kind),
                                     parts.option,
                                     int64_t(parts.inputs.size()),
                                     parts.function != nullptr,
                                     parts.function ? int64_t(parts.function->captures.size()) : 0,
                                     parts.function ? parts.function->boxed : 0};
  if (parts.function)
    operands.push_back(parts.function->name);
  operands.append(parts.parameters);
  if (parts.function)
    operands.append(parts.function->captures);
  attributes.push_back(int64_t(elements.size()));
  for (const Component &one : elements) {
    attributes.push_back(int64_t(one.type));
    attributes.push_back(one.shape ? int64_t(one.shape->size()) : -1);
    if (one.shape)
      attributes.append(*one.shape);
  }
  Operation *made =
      n.kernelCall("weir_kernel_dataset", sequenceType(n.b.getContext(), ShapedType::kDynamic),
                   operands, attributes);
  return made ? made->getResult(0) : Value();
}

static LogicalResult make(NodeImport &n, const Parts &parts, const Components &elements) {
  Value made = makeValue(n, parts, elements);
  return made ? n.result(made) : failure();
}

/// The elements of an input, or what the node says of its own, where they are the same.
static Components elementsAt(NodeImport &n, Value dataset) {
  std::optional<Components> known = elementsOf(dataset);
  return known ? *known : saidComponents(n);
}

/// Elements of the data set that a function of elements is for; nothing after a report.
static std::optional<Components> argumentsAt(NodeImport &n, Value dataset) {
  std::optional<Components> known = elementsOf(dataset);
  if (!known)
    (void)n.unsupported(
        "found a function of elements of a data set that comes out of a branch or a "
        "loop: what they are is not known when compiling");
  return known;
}

//===----------------------------------------------------------------------===//
// Tensors, numbers, files
//===----------------------------------------------------------------------===//

template <bool slices> static LogicalResult tensors(NodeImport &n) {
  Components said = saidComponents(n, "Toutput_types");
  SmallVector<Value> values = n.tensors(0, n.inputCount());
  if (values.size() != n.inputCount() || said.size() != values.size())
    return failure();
  Components elements = componentsOf(values, said);
  for (Component &one : elements) {
    if (slices && (!one.shape || one.shape->empty()))
      return n.invalid("found a component without dimensions, of which there are no slices");
    if (slices)
      one.shape->erase(one.shape->begin());
  }
  return make(n,
              {.kind = slices ? DatasetKind::Slices : DatasetKind::Tensors, .parameters = values},
              elements);
}

static LogicalResult range(NodeImport &n) {
  Components said = saidComponents(n);
  SmallVector<Value> values;
  for (size_t i = 0; i < 3; ++i)
    values.push_back(n.toI64(n.in(i)));
  Type type = said.size() == 1 ? elementType(n.b.getContext(), said[0].type) : Type();
  if (!type || !(type.isIntOrFloat()) || type.isF16() || type.isBF16())
    return n.unsupported("found a range of another type than integers, float and double");
  values.push_back(n.scalar(type, 0));
  said[0].shape.emplace();
  return make(n, {.kind = DatasetKind::Range, .parameters = values}, said);
}

/// Records of files, strings. Inputs in this order are parameters.
template <DatasetKind kind, int... inputs> static LogicalResult files(NodeImport &n) {
  SmallVector<Value> values;
  for (int i : {inputs...})
    values.push_back(n.in(size_t(i)));
  if (llvm::is_contained(values, Value()))
    return failure();
  // As a vector.
  if (n.rank(values[0]) == 0)
    values[0] = n.reshape(values[0], {1});
  return make(n, {.kind = kind, .parameters = values}, {{DataType::String, IntVector()}});
}

static LogicalResult fixedFiles(NodeImport &n) {
  SmallVector<Value> values;
  for (size_t i = 0; i < 4; ++i)
    values.push_back(n.in(i));
  values.push_back(n.inputCount() > 5 ? n.in(5) : n.stringScalar(""));
  if (llvm::is_contained(values, Value()))
    return failure();
  return make(n, {.kind = DatasetKind::Fixed, .parameters = values},
              {{DataType::String, IntVector()}});
}

//===----------------------------------------------------------------------===//
// Which elements, and when
//===----------------------------------------------------------------------===//

/// Of the elements of input 0, with the other inputs as parameters.
template <DatasetKind kind, int... inputs> static LogicalResult selected(NodeImport &n) {
  Value input = datasetAt(n, 0);
  SmallVector<Value> values;
  for (int i : std::initializer_list<int>{inputs...})
    values.push_back(n.in(size_t(i)));
  if (!input || llvm::is_contained(values, Value()))
    return failure();
  return make(n, {.kind = kind, .inputs = {input}, .parameters = values}, elementsAt(n, input));
}

/// Hints to TensorFlow's own runtime.
static LogicalResult passedOn(NodeImport &n) {
  Value input = datasetAt(n, 0);
  return input ? n.result(input) : failure();
}

static LogicalResult concatenate(NodeImport &n) {
  Value first = datasetAt(n, 0), second = datasetAt(n, 1);
  if (!first || !second)
    return failure();
  Components elements = elementsAt(n, first), others = elementsAt(n, second);
  if (elements.size() != others.size())
    return n.invalid("found data sets with elements of different components");
  for (auto [one, other] : llvm::zip(elements, others)) {
    if (one.type != other.type)
      return n.invalid("found data sets with elements of different types");
    if (!one.shape || !other.shape || one.shape->size() != other.shape->size()) {
      one.shape.reset();
      continue;
    }
    for (auto [size, more] : llvm::zip(*one.shape, *other.shape))
      size = size == more ? size : ShapedType::kDynamic;
  }
  return make(n, {.kind = DatasetKind::Concatenate, .inputs = {first, second}}, elements);
}

static LogicalResult zip(NodeImport &n) {
  Parts parts{.kind = DatasetKind::Zip};
  Components elements;
  bool areKnown = true;
  for (size_t i = 0; i < n.inputCount(); ++i) {
    parts.inputs.push_back(datasetAt(n, i));
    if (!parts.inputs.back())
      return failure();
    std::optional<Components> known = elementsOf(parts.inputs.back());
    areKnown &= known.has_value();
    if (known)
      elements.append(*known);
  }
  return make(n, parts, areKnown ? elements : saidComponents(n));
}

static LogicalResult shard(NodeImport &n) {
  if (n.isSet("require_non_empty"))
    return n.unsupported("found a shard that must have elements");
  return selected<DatasetKind::Shard, 1, 2>(n);
}

static LogicalResult unbatch(NodeImport &n) {
  Value input = datasetAt(n, 0);
  if (!input)
    return failure();
  Components elements = saidComponents(n);
  if (std::optional<Components> known = elementsOf(input)) {
    elements = *known;
    for (Component &one : elements)
      if (one.shape && !one.shape->empty())
        one.shape->erase(one.shape->begin());
  }
  return make(n, {.kind = DatasetKind::Unbatch, .inputs = {input}}, elements);
}

//===----------------------------------------------------------------------===//
// Random order
//===----------------------------------------------------------------------===//

/// The name of a new generator of seeds.
static Value seedGenerator(NodeImport &n, Value seed, Value seed2, bool redraws) {
  Value name = n.stringScalar("g" + n.g.nameOf(n.node));
  Operation *made = n.kernelCall("weir_kernel_seed_generator", {}, {name, seed, seed2}, {redraws},
                                 /*isPure=*/false);
  return made ? name : Value();
}

static LogicalResult anonymousSeeds(NodeImport &n) {
  bool redraws = n.node.op == "AnonymousRandomSeedGenerator" || n.isSet("reshuffle");
  // A reshuffle may also be an input.
  if (n.inputCount() > 2) {
    std::optional<int64_t> given = n.constantInt(2);
    if (!given)
      return failure();
    redraws = *given != 0;
  }
  Value name = seedGenerator(n, n.in(0), n.in(1), redraws);
  if (!name)
    return failure();
  if (failed(n.result(name)))
    return failure();
  // Who deletes it needs a word that it may.
  return n.node.outputTypes.size() > 1 ? n.result(n.stringScalar("")) : success();
}

static LogicalResult noSeeds(NodeImport &n) { return n.result(n.stringScalar("")); }

/// Seeds are inputs; a generator that is one counts alone, unless it stands for none.
template <int seed, int generator, int count> static LogicalResult shuffle(NodeImport &n) {
  Value input = datasetAt(n, 0), size = n.in(1);
  Value name;
  if constexpr (generator >= 0)
    name = n.in(size_t(generator));
  if (generator != seed && (!name || knownString(name) == ""))
    name = seedGenerator(n, n.in(seed), n.in(seed + 1), n.isSet("reshuffle_each_iteration"));
  if (!input || !size || !name)
    return failure();
  Components elements = elementsAt(n, input);
  Value shuffled = makeValue(
      n, {.kind = DatasetKind::Shuffle, .inputs = {input}, .parameters = {size, name}}, elements);
  if (count < 0 || !shuffled)
    return shuffled ? n.result(shuffled) : failure();
  Value times = n.in(size_t(count));
  if (!times)
    return failure();
  return make(n, {.kind = DatasetKind::Repeat, .inputs = {shuffled}, .parameters = {times}},
              elements);
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

/// Elements of a batch: of as many rows as input 1 says, where a rest is dropped (an input,
/// if there is one, says so).
static Components batched(NodeImport &n, const Components &rows, size_t drop) {
  std::optional<IntVector> count = n.knownInts(1);
  std::optional<IntVector> isDropped = drop < n.inputCount() ? n.knownInts(drop) : std::nullopt;
  bool isFull = count && isDropped && isDropped->size() == 1 && isDropped->front() != 0;
  Components all;
  for (Component one : rows) {
    if (one.shape)
      one.shape->insert(one.shape->begin(), isFull ? count->front() : ShapedType::kDynamic);
    all.push_back(std::move(one));
  }
  return all;
}

template <int drop> static LogicalResult batch(NodeImport &n) {
  Value input = datasetAt(n, 0), size = n.in(1);
  Value drops = drop >= 0 ? n.in(size_t(drop)) : n.scalar(n.b.getI1Type(), 0);
  if (!input || !size || !drops)
    return failure();
  std::optional<Components> rows = elementsOf(input);
  return make(n, {.kind = DatasetKind::Batch, .inputs = {input}, .parameters = {size, drops}},
              rows ? batched(n, *rows, drop < 0 ? n.inputCount() : size_t(drop))
                   : saidComponents(n));
}

static LogicalResult paddedBatch(NodeImport &n) {
  Components said = saidComponents(n, "Toutput_types");
  size_t count = said.size(), dropAt = 2 + 2 * count;
  Value input = datasetAt(n, 0), size = n.in(1);
  bool hasDrop = n.inputCount() > dropAt;
  Value drops = hasDrop ? n.in(dropAt) : n.scalar(n.b.getI1Type(), 0);
  if (n.inputCount() < dropAt)
    return n.invalid("found fewer inputs than components need");
  SmallVector<Value> values = {size, drops};
  values.append(n.tensors(2, dropAt));
  if (!input || !size || !drops || values.size() != dropAt)
    return failure();
  Components rows;
  for (size_t i = 0; i < count; ++i) {
    Component one;
    one.type = said[i].type;
    int64_t rank = n.sizes(values[2 + i]).front();
    std::optional<IntVector> sizes = n.knownInts(2 + i);
    if (!ShapedType::isDynamic(rank)) {
      one.shape.emplace(size_t(rank), ShapedType::kDynamic);
      for (int64_t d = 0; sizes && d < rank; ++d)
        (*one.shape)[d] = (*sizes)[d] < 0 ? ShapedType::kDynamic : (*sizes)[d];
    }
    rows.push_back(one);
  }
  return make(n, {.kind = DatasetKind::Padded, .inputs = {input}, .parameters = values},
              batched(n, rows, dropAt));
}

//===----------------------------------------------------------------------===//
// Functions of elements
//===----------------------------------------------------------------------===//

static size_t countOf(NodeImport &n, std::string_view list) {
  const AttrValue *types = n.attr(list);
  return types && types->list ? types->list->size() : 0;
}

template <bool isParallel> static LogicalResult map(NodeImport &n) {
  Value input = datasetAt(n, 0);
  size_t end = 1 + countOf(n, "Targuments");
  std::optional<Components> rows = input ? argumentsAt(n, input) : std::nullopt;
  Value calls = isParallel ? n.toI64(n.in(end)) : n.scalar(n.b.getI64Type(), 1);
  if (!rows || !calls)
    return failure();
  FailureOr<DatasetFunction> function = datasetFunction(n, "f", *rows, 1, end);
  if (failed(function))
    return failure();
  return make(n,
              {.kind = DatasetKind::Map,
               .option = n.isSet("preserve_cardinality"),
               .inputs = {input},
               .function = &*function,
               .parameters = {calls}},
              componentsOf(function->results, saidComponents(n)));
}

/// Elements stay what they are.
template <DatasetKind kind> static LogicalResult chosen(NodeImport &n) {
  Value input = datasetAt(n, 0);
  std::optional<Components> rows = input ? argumentsAt(n, input) : std::nullopt;
  if (!rows)
    return failure();
  FailureOr<DatasetFunction> function =
      datasetFunction(n, "predicate", *rows, 1, 1 + countOf(n, "Targuments"));
  if (failed(function))
    return failure();
  return make(n, {.kind = kind, .inputs = {input}, .function = &*function}, *rows);
}

/// Cycle, block and calls: inputs, or -1 of each: one.
template <int cycle, int block, int calls> static LogicalResult interleave(NodeImport &n) {
  Value input = datasetAt(n, 0);
  size_t end = 1 + countOf(n, "Targuments");
  std::optional<Components> rows = input ? argumentsAt(n, input) : std::nullopt;
  auto number = [&](int place) {
    return place < 0 ? n.scalar(n.b.getI64Type(), 1) : n.toI64(n.in(end + size_t(place)));
  };
  SmallVector<Value> values = {number(cycle), number(block), number(calls)};
  if (!rows || llvm::is_contained(values, Value()))
    return failure();
  FailureOr<DatasetFunction> function = datasetFunction(n, "f", *rows, 1, end);
  if (failed(function))
    return failure();
  std::optional<Components> inner =
      function->results.size() == 1 ? elementsOf(function->results[0]) : std::nullopt;
  return make(n,
              {.kind = DatasetKind::Interleave,
               .inputs = {input},
               .function = &*function,
               .parameters = values},
              inner ? *inner : saidComponents(n));
}

/// The function of state and element, with sizes of the state open that it changes; their
/// first values are inputs [1, 1 + states).
static FailureOr<DatasetFunction> stateFunction(NodeImport &n, Components &state,
                                                const Components &rows) {
  size_t states = state.size();
  while (true) {
    Components arguments = state;
    arguments.append(rows);
    FailureOr<DatasetFunction> function =
        datasetFunction(n, "f", arguments, 1 + states, 1 + states + countOf(n, "Targuments"));
    if (failed(function))
      return failure();
    if (function->results.size() < states)
      return n.invalid("found a function that gives fewer results than there are states");
    bool changes = false;
    Components after = componentsOf(ArrayRef(function->results).take_front(states), state);
    for (auto [one, next] : llvm::zip(state, after)) {
      if (!one.shape || !next.shape || one.shape->size() != next.shape->size()) {
        changes |= one.shape.has_value();
        one.shape.reset();
        continue;
      }
      for (auto [size, other] : llvm::zip(*one.shape, *next.shape))
        if (size != other && !ShapedType::isDynamic(size)) {
          size = ShapedType::kDynamic;
          changes = true;
        }
    }
    // One that was for other types is used by nobody (dropUnusedFunctions).
    if (!changes)
      return function;
  }
}

/// A data set's elements, and a state that a function carries over them.
struct Fold {
  Value input;
  SmallVector<Value> first; ///< the state before the first element
  Components state;
  DatasetFunction function;
};

static FailureOr<Fold> foldOf(NodeImport &n) {
  size_t states = countOf(n, "Tstate");
  Fold fold;
  fold.input = datasetAt(n, 0);
  std::optional<Components> rows = fold.input ? argumentsAt(n, fold.input) : std::nullopt;
  fold.first = n.tensors(1, 1 + states);
  if (!rows || fold.first.size() != states)
    return failure();
  fold.state = componentsOf(fold.first, saidComponents(n, "Tstate"));
  FailureOr<DatasetFunction> function = stateFunction(n, fold.state, *rows);
  if (failed(function))
    return failure();
  fold.function = *function;
  return fold;
}

static LogicalResult scan(NodeImport &n) {
  FailureOr<Fold> fold = foldOf(n);
  if (failed(fold))
    return failure();
  return make(n,
              {.kind = DatasetKind::Scan,
               .option = n.isSet("preserve_cardinality"),
               .inputs = {fold->input},
               .function = &fold->function,
               .parameters = fold->first},
              componentsOf(ArrayRef(fold->function.results).drop_front(fold->first.size()),
                           saidComponents(n)));
}

//===----------------------------------------------------------------------===//
// What a whole data set comes to
//===----------------------------------------------------------------------===//

static LogicalResult reduce(NodeImport &n) {
  FailureOr<Fold> fold = foldOf(n);
  if (failed(fold))
    return failure();
  SmallVector<Value> operands = {fold->input, fold->function.name};
  operands.append(fold->first);
  operands.append(fold->function.captures);
  std::optional<SmallVector<Type>> types = typesOf(n, fold->state);
  if (!types)
    return failure();
  return waitWith(n, "weir_kernel_dataset_reduce", "weir_kernel_dataset_finish", operands,
                  {int64_t(fold->first.size()), fold->function.boxed}, {}, *types);
}

static LogicalResult single(NodeImport &n) {
  Value input = datasetAt(n, 0);
  std::optional<SmallVector<Type>> types = input ? typesOf(n, elementsAt(n, input)) : std::nullopt;
  if (!types)
    return failure();
  return waitWith(n, "weir_kernel_dataset_single", "weir_kernel_dataset_finish", {input}, {}, {},
                  *types);
}

static LogicalResult cardinality(NodeImport &n) {
  Value input = datasetAt(n, 0);
  if (!input)
    return failure();
  return n.result(n.kernelCall("weir_kernel_dataset_cardinality",
                               {RankedTensorType::get({}, n.b.getI64Type())}, {input}, {}, false)
                      ->getResult(0));
}

ArrayRef<OpImport> weir::tf::datasetImports() {
  static const OpImport rows[] = {
      {"AnonymousRandomSeedGenerator", anonymousSeeds},
      {"AnonymousSeedGenerator", anonymousSeeds},
      {"BatchDataset", batch<-1>},
      {"BatchDatasetV2", batch<2>},
      {"CacheDataset", selected<DatasetKind::Cache, 1>},
      {"CacheDatasetV2", selected<DatasetKind::Cache, 1>},
      {"ConcatenateDataset", concatenate},
      {"DatasetCardinality", cardinality},
      {"DatasetToSingleElement", single},
      {"DummySeedGenerator", noSeeds},
      {"ExperimentalScanDataset", scan},
      {"ExperimentalTakeWhileDataset", chosen<DatasetKind::TakeWhile>},
      {"ExperimentalUnbatchDataset", unbatch},
      {"FilterDataset", chosen<DatasetKind::Filter>},
      {"FixedLengthRecordDataset", fixedFiles},
      {"FixedLengthRecordDatasetV2", fixedFiles},
      {"FlatMapDataset", interleave<-1, -1, -1>},
      {"InterleaveDataset", interleave<0, 1, -1>},
      {"MapDataset", map<false>},
      {"MaxIntraOpParallelismDataset", passedOn},
      {"ModelDataset", passedOn},
      {"NonSerializableDataset", passedOn},
      {"OptimizeDataset", passedOn},
      {"OptimizeDatasetV2", passedOn},
      {"OptionsDataset", passedOn},
      {"PaddedBatchDataset", paddedBatch},
      {"PaddedBatchDatasetV2", paddedBatch},
      {"ParallelBatchDataset", batch<3>},
      {"ParallelFilterDataset", chosen<DatasetKind::Filter>},
      {"ParallelInterleaveDatasetV2", interleave<0, 1, 2>},
      {"ParallelInterleaveDatasetV3", interleave<0, 1, 2>},
      {"ParallelInterleaveDatasetV4", interleave<0, 1, 4>},
      {"ParallelMapDataset", map<true>},
      {"ParallelMapDatasetV2", map<true>},
      {"PrefetchDataset", selected<DatasetKind::Prefetch, 1>},
      {"PrivateThreadPoolDataset", passedOn},
      {"RangeDataset", range},
      {"ReduceDataset", reduce},
      {"RepeatDataset", selected<DatasetKind::Repeat, 1>},
      {"ScanDataset", scan},
      {"ShardDataset", shard},
      {"ShuffleAndRepeatDataset", shuffle<2, -1, 4>},
      {"ShuffleAndRepeatDatasetV2", shuffle<2, 5, 4>},
      {"ShuffleDataset", shuffle<2, -1, -1>},
      {"ShuffleDatasetV2", shuffle<2, 2, -1>},
      {"ShuffleDatasetV3", shuffle<2, 4, -1>},
      {"SkipDataset", selected<DatasetKind::Skip, 1>},
      {"TFRecordDataset", files<DatasetKind::Records, 0, 1>},
      {"TFRecordDatasetV2", files<DatasetKind::Records, 0, 1, 3>},
      {"TakeDataset", selected<DatasetKind::Take, 1>},
      {"TakeWhileDataset", chosen<DatasetKind::TakeWhile>},
      {"TensorDataset", tensors<false>},
      {"TensorSliceDataset", tensors<true>},
      {"TextLineDataset", files<DatasetKind::Lines, 0, 1>},
      {"ThreadPoolDataset", passedOn},
      {"UnbatchDataset", unbatch},
      {"ZipDataset", zip},
  };
  return rows;
}
