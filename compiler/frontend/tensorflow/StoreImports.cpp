//===- StoreImports.cpp - staging areas, barriers, accumulators, text -----===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// State of the session that the runtime's kernels keep under a name (how often a node
// has printed is some, too)
// (runtime/include/weir/stores.h), as it does queues. Operations on staging areas
// carry the name themselves; barriers and accumulators have handles.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/EdgeTypes.h"
#include "compiler/frontend/tensorflow/InputImports.h"
#include "compiler/frontend/tensorflow/Queues.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

LogicalResult weir::tf::waitWith(NodeImport &n, StringRef kernel, StringRef finish,
                                 ValueRange operands, ArrayRef<int64_t> attributes,
                                 ArrayRef<int64_t> finishAttributes, ArrayRef<Type> types) {
  Operation *begun = n.kernelCall(kernel, {RankedTensorType::get({}, n.b.getI64Type())}, operands,
                                  attributes, /*isPure=*/false);
  if (!begun)
    return failure();
  Value ticket = begun->getResult(0);
  n.kernelCall("weir_rt_wait", {}, {ticket}, {}, /*isPure=*/false);
  Operation *end = n.kernelCall(finish, types, {ticket}, finishAttributes, /*isPure=*/false);
  return n.results(SmallVector<Value>(end->getResults()));
}

static Type indexTensor(NodeImport &n, Type element) { return RankedTensorType::get({}, element); }

static LogicalResult askWith(NodeImport &n, StringRef kernel, Value handle,
                             ArrayRef<int64_t> attributes) {
  Operation *made = n.kernelCall(kernel, {indexTensor(n, n.b.getI32Type())}, {handle}, attributes,
                                 /*isPure=*/false);
  return made ? n.result(made->getResult(0)) : failure();
}

static LogicalResult changeWith(NodeImport &n, StringRef kernel, ValueRange operands,
                                ArrayRef<int64_t> attributes) {
  return success(n.kernelCall(kernel, {}, operands, attributes, /*isPure=*/false) != nullptr);
}

//===----------------------------------------------------------------------===//
// Staging areas
//===----------------------------------------------------------------------===//

namespace {

enum class StageKind : int64_t { Fifo, Map, OrderedMap };

struct Area {
  Value name;
  SmallVector<int64_t> attributes; ///< of the kernels
  SmallVector<Type> types;         ///< elements of the components
};

} // namespace

static StringRef putterOf(StageKind kind) {
  return kind == StageKind::Fifo  ? "Stage"
         : kind == StageKind::Map ? "MapStage"
                                  : "OrderedMapStage";
}

static std::optional<Area> areaOf(NodeImport &n, StageKind kind) {
  Area area;
  const AttrValue *types = n.attr("dtypes");
  if (types && types->list)
    for (int64_t number : types->list->ints) {
      Type type = elementType(n.b.getContext(), toDataType(number));
      if (!type) {
        (void)n.unsupported("found elements of a type that weir does not have");
        return std::nullopt;
      }
      area.types.push_back(type);
    }
  if (n.i("capacity") < 0 || n.i("memory_limit") < 0) {
    (void)n.invalid("found a capacity or memory limit below 0; expected 0 (none) or more");
    return std::nullopt;
  }
  area.attributes = {int64_t(kind), n.i("capacity"), n.i("memory_limit"),
                     int64_t(area.types.size())};
  area.name = n.stringScalar(resourceName(n, "smo"[int(kind)]));
  return area;
}

/// Types of the components that the area holds, as those say that put them in;
/// reports where none does.
static std::optional<SmallVector<Type>> storedTypes(NodeImport &n, StageKind kind,
                                                    ArrayRef<int64_t> numbers, const Area &area) {
  SmallVector<std::optional<IntVector>> shapes(area.types.size());
  SmallVector<bool> isFirst(area.types.size(), true);
  std::string name = resourceName(n, 's');
  for (const Node &other : n.g.current->graph().nodes) {
    if (StringRef(other.op) != putterOf(kind))
      continue;
    NodeImport at(n.g, other, {}, n.b, n.loc);
    if (resourceName(at, 's') != name)
      continue;
    size_t first = kind == StageKind::Fifo ? 0 : 2;
    for (size_t i = first; i < other.inputs.size(); ++i) {
      int64_t component = int64_t(i - first);
      if (kind != StageKind::Fifo) {
        // Which components they are its indices say.
        const Node &indices = n.g.current->graph().nodes[other.inputs[1].node];
        const AttrValue *value = indices.attr("value");
        TypedAttr known = indices.op == "Const" && value && value->tensor
                              ? n.g.tensorAttr(*value->tensor, indices)
                              : TypedAttr();
        auto dense = dyn_cast_or_null<DenseIntElementsAttr>(known);
        if (!dense || component >= dense.getNumElements())
          continue;
        component = (*(dense.value_begin<APInt>() + component)).getSExtValue();
      }
      if (component < 0 || component >= int64_t(area.types.size()))
        continue;
      if (RankedTensorType type = typeOfEdge(n, other.inputs[i])) {
        widenShape(shapes[component], isFirst[component], type.getShape());
        isFirst[component] = false;
      }
    }
  }
  SmallVector<Type> types;
  for (int64_t number : numbers) {
    if (number < 0 || number >= int64_t(area.types.size())) {
      (void)n.invalid("found index " + Twine(number) + " of a tuple of " +
                      Twine(area.types.size()) + " components");
      return std::nullopt;
    }
    if (!shapes[number]) {
      (void)n.unsupported("found component " + Twine(number) +
                          " of a staging area, whose rank no " + putterOf(kind) +
                          " of the graph tells");
      return std::nullopt;
    }
    types.push_back(RankedTensorType::get(*shapes[number], area.types[number]));
  }
  return types;
}

template <StageKind kind> static LogicalResult stagePut(NodeImport &n) {
  std::optional<Area> area = areaOf(n, kind);
  SmallVector<Value> operands = n.tensors(0, n.inputCount());
  if (!area || operands.empty())
    return failure();
  operands.insert(operands.begin(), area->name);
  return waitWith(n, "weir_kernel_stage_put", "weir_kernel_stage_finish", operands,
                  area->attributes, area->attributes, {});
}

/// `stays`: what is taken stays. Any key: of a map without a key among the inputs.
template <StageKind kind, bool stays, bool isAnyKey = false>
static LogicalResult stageTake(NodeImport &n) {
  std::optional<Area> area = areaOf(n, kind);
  SmallVector<Value> operands = n.tensors(0, n.inputCount());
  if (!area || operands.size() != n.inputCount())
    return failure();
  IntVector numbers;
  if (kind == StageKind::Fifo) {
    for (size_t i = 0; i < area->types.size(); ++i)
      numbers.push_back(int64_t(i));
  } else if (std::optional<IntVector> known = n.constantInts(n.inputCount() - 1)) {
    numbers = *known;
  } else {
    return failure();
  }
  std::optional<SmallVector<Type>> types = storedTypes(n, kind, numbers, *area);
  if (!types)
    return failure();
  if (isAnyKey)
    types->insert(types->begin(), indexTensor(n, n.b.getI64Type()));
  operands.insert(operands.begin(), area->name);
  SmallVector<int64_t> attributes = area->attributes;
  attributes.push_back(stays);
  return waitWith(n, "weir_kernel_stage_take", "weir_kernel_stage_finish", operands, attributes,
                  area->attributes, *types);
}

template <StageKind kind, bool isIncomplete> static LogicalResult stageSize(NodeImport &n) {
  std::optional<Area> area = areaOf(n, kind);
  if (!area)
    return failure();
  area->attributes.push_back(isIncomplete);
  return askWith(n, "weir_kernel_stage_size", area->name, area->attributes);
}

template <StageKind kind> static LogicalResult stageClear(NodeImport &n) {
  std::optional<Area> area = areaOf(n, kind);
  return area ? changeWith(n, "weir_kernel_stage_clear", {area->name}, area->attributes)
              : failure();
}

//===----------------------------------------------------------------------===//
// Barriers and accumulators
//===----------------------------------------------------------------------===//

/// What the handle of input 0 stands for; null after a report.
static const QueueInfo *storeAt(NodeImport &n, char letter, const char *what) {
  Value handle = n.in(0);
  std::optional<std::string> name = handle ? knownString(handle) : std::nullopt;
  auto it = name && name->front() == letter ? n.g.queues.find(*name) : n.g.queues.end();
  if (it != n.g.queues.end())
    return &it->second;
  if (handle)
    (void)n.unsupported(Twine("found an input 0 that is no ") + what + " known when compiling");
  return nullptr;
}

/// Attributes of a queue's kernels for the tuples (number, key, values…).
static LogicalResult makeBarrier(NodeImport &n) {
  constexpr int64_t priorities = 3;
  QueueInfo info;
  const AttrValue *types = n.attr("component_types"), *shapes = n.attr("shapes");
  IntVector numbers = {int64_t(DataType::Int64), int64_t(DataType::String)};
  for (int64_t number : types && types->list ? types->list->ints : std::vector<int64_t>()) {
    Type type = elementType(n.b.getContext(), toDataType(number));
    if (!type)
      return n.unsupported("found elements of a type that weir does not have");
    info.types.push_back(type);
    info.shapes.emplace_back();
    numbers.push_back(number);
  }
  if (info.types.empty())
    return n.invalid("found a barrier of tuples without components");
  if (n.i("capacity") != -1)
    return n.unsupported("found a capacity of " + Twine(n.i("capacity")) +
                         "; expected -1 (none), as TensorFlow does");
  if (shapes && shapes->list)
    for (auto [i, shape] : llvm::enumerate(shapes->list->shapes))
      if (i < info.shapes.size() && !shape.unknownRank)
        info.shapes[i].emplace(shape.dims.begin(), shape.dims.end());
  info.attributes = {priorities, -1, 0, 0, int64_t(numbers.size()), /*number*/ 0, /*key*/ 0};
  for (const std::optional<IntVector> &shape : info.shapes) {
    info.attributes.push_back(shape ? int64_t(shape->size()) : -1);
    if (shape)
      info.attributes.append(shape->begin(), shape->end());
  }
  info.attributes.append(numbers);
  std::string name = resourceName(n, 'b');
  n.g.queues.insert_or_assign(name, info);
  return n.result(n.stringScalar(name));
}

static LogicalResult barrierInsert(NodeImport &n) {
  const QueueInfo *info = storeAt(n, 'b', "barrier");
  SmallVector<Value> operands = n.tensors(0, n.inputCount());
  if (!info || operands.size() != 3)
    return failure();
  int64_t component = n.i("component_index");
  if (component < 0 || component >= int64_t(info->types.size()))
    return n.invalid("found component " + Twine(component) + " of a barrier of tuples of " +
                     Twine(info->types.size()));
  if (n.element(operands[2]) != info->types[component])
    return n.invalid("found values of another type than the barrier's component");
  return changeWith(n, "weir_kernel_barrier_insert", operands,
                    queueAttributes(*info, QueueMode(component)));
}

static LogicalResult barrierTake(NodeImport &n) {
  const QueueInfo *info = storeAt(n, 'b', "barrier");
  SmallVector<Value> operands = n.tensors(0, n.inputCount());
  if (!info || operands.size() != 2)
    return failure();
  if (!waitsForever(n))
    return failure();
  bool takesFewer = n.isSet("allow_small_batch");
  std::optional<IntVector> wanted = n.knownInts(1);
  int64_t rows = !takesFewer && wanted && wanted->size() == 1 && wanted->front() >= 0
                     ? wanted->front()
                     : ShapedType::kDynamic;
  SmallVector<Type> types = {RankedTensorType::get({rows}, n.b.getI64Type()),
                             RankedTensorType::get({rows}, StringType::get(n.b.getContext()))};
  for (auto [i, type] : llvm::enumerate(info->types)) {
    if (!info->shapes[i])
      return n.unsupported("found a barrier that does not say the rank of component " + Twine(i) +
                           "; expected one with `shapes`");
    IntVector sizes = {rows};
    for (int64_t size : *info->shapes[i])
      sizes.push_back(size < 0 ? ShapedType::kDynamic : size);
    types.push_back(RankedTensorType::get(sizes, type));
  }
  SmallVector<int64_t> attributes =
      queueAttributes(*info, takesFewer ? QueueMode::UpTo : QueueMode::Batch);
  return waitWith(n, "weir_kernel_barrier_take", "weir_kernel_queue_finish", operands, attributes,
                  attributes, types);
}

static LogicalResult barrierClose(NodeImport &n) {
  const QueueInfo *info = storeAt(n, 'b', "barrier");
  if (!info)
    return failure();
  QueueMode mode = n.isSet("cancel_pending_enqueues") ? QueueMode::Batch : QueueMode::Single;
  return changeWith(n, "weir_kernel_barrier_close", {n.in(0)}, queueAttributes(*info, mode));
}

template <QueueMode mode> static LogicalResult barrierSize(NodeImport &n) {
  const QueueInfo *info = storeAt(n, 'b', "barrier");
  return info ? askWith(n, "weir_kernel_barrier_size", n.in(0), queueAttributes(*info, mode))
              : failure();
}

template <bool isSparse> static LogicalResult makeAccumulator(NodeImport &n) {
  QueueInfo info;
  Type type = n.elementAttr("dtype");
  const AttrValue *shape = n.attr("shape");
  if (!type || !(type.isF16() || type.isF32() || type.isF64()))
    return n.unsupported("found gradients of another type than half, float and double");
  StringRef reduction = n.s("reduction_type");
  if (reduction != "MEAN" && reduction != "SUM")
    return n.invalid("found reduction_type \"" + reduction + "\"; expected MEAN or SUM");
  info.types.push_back(type);
  info.shapes.emplace_back();
  if (shape && shape->shape && !shape->shape->unknownRank)
    info.shapes[0].emplace(shape->shape->dims.begin(), shape->shape->dims.end());
  info.attributes = {isSparse, reduction == "MEAN",
                     info.shapes[0] ? int64_t(info.shapes[0]->size()) : -1};
  if (info.shapes[0])
    info.attributes.append(info.shapes[0]->begin(), info.shapes[0]->end());
  std::string name = resourceName(n, 'a');
  n.g.queues.insert_or_assign(name, info);
  return n.result(n.stringScalar(name));
}

static LogicalResult accumulatorApply(NodeImport &n) {
  const QueueInfo *info = storeAt(n, 'a', "accumulator");
  SmallVector<Value> operands = n.tensors(0, n.inputCount());
  if (!info || operands.size() != (info->attributes[0] ? 5 : 3))
    return failure();
  if (n.element(operands[info->attributes[0] ? 3 : 2]) != info->types[0])
    return n.invalid("found a gradient of another type than the accumulator's");
  if (info->attributes[0] && !n.isSet("has_known_shape"))
    operands[4] = n.ints({}); // what it says counts for nothing
  return changeWith(n, "weir_kernel_accumulator_apply", operands, info->attributes);
}

static LogicalResult accumulatorTake(NodeImport &n) {
  const QueueInfo *info = storeAt(n, 'a', "accumulator");
  SmallVector<Value> operands = n.tensors(0, n.inputCount());
  if (!info || operands.size() != 2)
    return failure();
  if (!info->shapes[0])
    return n.unsupported("found an accumulator that does not say the rank of gradients; expected "
                         "one with `shape`");
  bool isSparse = info->attributes[0] != 0;
  IntVector sizes;
  for (int64_t size : *info->shapes[0])
    sizes.push_back(size < 0 ? ShapedType::kDynamic : size);
  SmallVector<Type> types;
  if (isSparse) {
    if (sizes.empty())
      return n.invalid("found a sparse accumulator of scalars");
    sizes[0] = ShapedType::kDynamic;
    types.push_back(RankedTensorType::get({ShapedType::kDynamic}, n.b.getI64Type()));
  }
  types.push_back(RankedTensorType::get(sizes, info->types[0]));
  if (isSparse)
    types.push_back(RankedTensorType::get({int64_t(sizes.size())}, n.b.getI64Type()));
  return waitWith(n, "weir_kernel_accumulator_take", "weir_kernel_accumulator_finish", operands,
                  info->attributes, info->attributes, types);
}

static LogicalResult accumulatorSize(NodeImport &n) {
  const QueueInfo *info = storeAt(n, 'a', "accumulator");
  return info ? askWith(n, "weir_kernel_accumulator_size", n.in(0), info->attributes) : failure();
}

static LogicalResult accumulatorStep(NodeImport &n) {
  const QueueInfo *info = storeAt(n, 'a', "accumulator");
  SmallVector<Value> operands = n.tensors(0, n.inputCount());
  if (!info || operands.size() != 2)
    return failure();
  return changeWith(n, "weir_kernel_accumulator_step", operands, info->attributes);
}

//===----------------------------------------------------------------------===//
// Text for people
//===----------------------------------------------------------------------===//

/// Where text goes, as the kernel numbers it.
constexpr int64_t outputStream = 1, errorStream = 2, fileStream = 3;

/// Where text goes, as the kernel numbers it, and the file's name where it is one.
static std::optional<std::pair<int64_t, StringRef>> streamOf(NodeImport &n, StringRef name) {
  if (name.consume_front("file://"))
    return std::pair(fileStream, name);
  if (name == "stdout")
    return std::pair(outputStream, StringRef());
  // Logs are this program's errors.
  if (llvm::is_contained({"stderr", "log(info)", "log(warning)", "log(error)"}, name))
    return std::pair(errorStream, StringRef());
  (void)n.invalid("found output_stream \"" + name +
                  "\"; expected stdout, stderr, log(info), log(warning), log(error) or file://…");
  return std::nullopt;
}

static LogicalResult printTensors(NodeImport &n) {
  Value x = n.in(0);
  SmallVector<Value> data = n.tensors(1, n.inputCount());
  if (!x || data.size() + 1 != n.inputCount())
    return failure();
  SmallVector<Value> operands = {n.stringScalar(resourceName(n, 'p')),
                                 n.stringScalar(n.s("message")), n.stringScalar("\n"),
                                 n.stringScalar("")};
  operands.append(data);
  n.kernelCall("weir_kernel_print", {}, operands, {errorStream, n.i("summarize"), n.i("first_n")},
               /*isPure=*/false);
  return n.result(x);
}

static LogicalResult printText(NodeImport &n) {
  Value text = n.in(0);
  auto stream = streamOf(n, n.s("output_stream"));
  if (!n.hasRank(text, 0) || !stream)
    return failure();
  constexpr int64_t all = -1;
  n.kernelCall(
      "weir_kernel_print", {},
      {n.stringScalar(""), text, n.stringScalar(n.s("end")), n.stringScalar(stream->second)},
      {stream->first, all, all}, /*isPure=*/false);
  return success();
}

ArrayRef<OpImport> weir::tf::storeImports() {
  constexpr StageKind fifo = StageKind::Fifo, map = StageKind::Map, ordered = StageKind::OrderedMap;
  static const OpImport rows[] = {
      {"AccumulatorApplyGradient", accumulatorApply},
      {"AccumulatorNumAccumulated", accumulatorSize},
      {"AccumulatorSetGlobalStep", accumulatorStep},
      {"AccumulatorTakeGradient", accumulatorTake},
      {"Barrier", makeBarrier},
      {"BarrierClose", barrierClose},
      {"BarrierIncompleteSize", barrierSize<QueueMode::Batch>},
      {"BarrierInsertMany", barrierInsert},
      {"BarrierReadySize", barrierSize<QueueMode::Single>},
      {"BarrierTakeMany", barrierTake},
      {"ConditionalAccumulator", makeAccumulator<false>},
      {"MapClear", stageClear<map>},
      {"MapIncompleteSize", stageSize<map, true>},
      {"MapPeek", stageTake<map, true>},
      {"MapSize", stageSize<map, false>},
      {"MapStage", stagePut<map>},
      {"MapUnstage", stageTake<map, false>},
      {"MapUnstageNoKey", stageTake<map, false, true>},
      {"OrderedMapClear", stageClear<ordered>},
      {"OrderedMapIncompleteSize", stageSize<ordered, true>},
      {"OrderedMapPeek", stageTake<ordered, true>},
      {"OrderedMapSize", stageSize<ordered, false>},
      {"OrderedMapStage", stagePut<ordered>},
      {"OrderedMapUnstage", stageTake<ordered, false>},
      {"OrderedMapUnstageNoKey", stageTake<ordered, false, true>},
      {"Print", printTensors},
      {"PrintV2", printText},
      {"ResourceAccumulatorApplyGradient", accumulatorApply},
      {"ResourceAccumulatorNumAccumulated", accumulatorSize},
      {"ResourceAccumulatorSetGlobalStep", accumulatorStep},
      {"ResourceAccumulatorTakeGradient", accumulatorTake},
      {"ResourceConditionalAccumulator", makeAccumulator<false>},
      {"SparseAccumulatorApplyGradient", accumulatorApply},
      {"SparseAccumulatorTakeGradient", accumulatorTake},
      {"SparseConditionalAccumulator", makeAccumulator<true>},
      {"Stage", stagePut<fifo>},
      {"StageClear", stageClear<fifo>},
      {"StagePeek", stageTake<fifo, true>},
      {"StageSize", stageSize<fifo, false>},
      {"Unstage", stageTake<fifo, false>},
  };
  return rows;
}
