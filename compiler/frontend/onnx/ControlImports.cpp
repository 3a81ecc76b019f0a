//===- ControlImports.cpp - Loop, Scan ------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/GraphImporter.h"
#include "compiler/frontend/onnx/GraphOrder.h"
#include "compiler/frontend/onnx/Scan.h"
#include "compiler/frontend/onnx/Sequences.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

/// Sizes and element type, as 2x?xf32.
std::string shapeText(RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (int64_t size : type.getShape())
    ShapedType::isDynamic(size) ? out << "?x" : out << size << "x";
  out << type.getElementType();
  return text;
}

/// `v` with the fixed shape that the graph declares, where its own is open.
Value refined(NodeImport &n, Value v, const TypeInfo &declared) {
  if (n.isStatic(v) || !declared.hasShape ||
      static_cast<int64_t>(declared.shape.size()) != n.rank(v))
    return v;
  SmallVector<int64_t> shape;
  for (const Dim &dim : declared.shape) {
    if (dim.size < 0)
      return v;
    shape.push_back(dim.size);
  }
  return n.reshape(v, shape);
}

/// What a loop gives of every iteration: entries of one fixed shape, written in
/// place, or, of an open shape, a sequence that is put together at the end.
struct LoopOutput {
  RankedTensorType fixed; ///< null: open
  Info info;
};

/// The number of a value that the compiler knows; none where `v` is null or computed in the run.
std::optional<int64_t> knownNumber(Value v) {
  std::optional<SmallVector<int64_t>> known = v ? constantIntegers(v) : std::nullopt;
  return known ? std::optional((*known)[0]) : std::nullopt;
}

class LoopImport {
public:
  explicit LoopImport(NodeImport &n) : n(n), body(n.graphAttr("body")) {}

  LogicalResult run();

private:
  FailureOr<Values> iterate(Value index, Values args);
  LogicalResult keepRank(size_t i, Imported &next);
  LogicalResult probe();
  void noteChange(size_t i, const Imported &written);
  bool keepsElement(size_t i, RankedTensorType goesOn);
  /// Whether no iteration is left for certain.
  bool isOver() const { return knownNumber(count).value_or(1) <= 0 || knownNumber(condition) == 0; }
  void requireIteration(StringRef reason);
  void beginAsWritten();
  FailureOr<Value> writeOut();
  LogicalResult settleRanks();
  LogicalResult unroll(int64_t number);
  LogicalResult finish();
  LogicalResult build();
  Value joined(const LoopOutput &output, Value boxes);
  LogicalResult setEntries(size_t i, Value rest);

  NodeImport &n;
  const Graph &body;
  Value count;     ///< of iterations that are left; null: as many as the condition says
  Value condition; ///< whether the first of them is made; null: it is
  std::vector<Imported> carried;                   ///< as the first of them takes it
  int64_t writtenOut = 0;                          ///< iterations before these,
  SmallVector<SmallVector<Imported>> firstEntries; ///< and what they gave, by output
  bool changesRank = false; ///< a value that the body reads goes on with another rank
  SmallVector<std::pair<size_t, RankedTensorType>> unread;  ///< carried, and what is written
  std::optional<std::unordered_set<std::string_view>> read; ///< names that the body takes
  bool fixedCount = false;       ///< entries are written in place
  bool conditional = false;      ///< the body may end the loop
  SmallVector<LoopOutput> outputs;
  bool again = false;  ///< an iteration gave more than the last try expected
  bool differ = false; ///< … or a sequence of another structure
};

/// Whether the carried value `i` goes on as it is: one element may gain or lose dimensions, where
/// the body declares the rank that it had. Exporters write scalars that become vectors of one,
/// which are declared as scalars.
bool LoopImport::keepsElement(size_t i, RankedTensorType goesOn) {
  RankedTensorType begins = n.type(carried[i].tensor);
  const TypeInfo &declared = body.outputs[i + 1].type;
  return frontend::haveOneElement(begins, goesOn) && declared.hasShape &&
         static_cast<int64_t>(declared.shape.size()) == begins.getRank();
}

/// Notes where the carried value `i` does not go on with the rank and type with which it begins.
void LoopImport::noteChange(size_t i, const Imported &written) {
  if (carried[i].kind != Imported::Kind::Tensor || written.kind != Imported::Kind::Tensor)
    return;
  RankedTensorType begins = n.type(carried[i].tensor), type = n.type(written.tensor);
  if (frontend::joinTypes(begins, type))
    return;
  if (!read)
    read = namesRead(body);
  if (!read->count(body.inputs[i + 2].name) && !n.isString(written.tensor))
    unread.emplace_back(i, type);
  else
    changesRank |= begins.getElementType() == type.getElementType() && !keepsElement(i, type);
}

/// Ends a run in which the loop makes no iteration but those that are written out.
void LoopImport::requireIteration(StringRef reason) {
  Value some = count ? n.compare("gt", count, 0) : Value();
  if (condition)
    some = some ? n.op<AndOp>(condition, some) : condition;
  std::string made =
      writtenOut ? "fewer than " + std::to_string(writtenOut + 1) + " iterations" : "no iteration";
  if (some)
    n.require(some, "the loop makes " + made + ", and " + reason.str(), unimplemented);
}

/// Of a carried value that the body writes and never reads, what it begins with is of no use but
/// to a loop without iterations: exporters of languages with variables begin it with some scalar.
/// It begins with the rank and type that are written; where its result has a name, the loop must
/// iterate, unless one element is what it begins with and what is written.
void LoopImport::beginAsWritten() {
  bool asked = false;
  for (auto [i, type] : unread) {
    if (frontend::haveOneElement(n.type(carried[i].tensor), type)) {
      carried[i].tensor = n.reshape(carried[i].tensor, type.getShape());
      continue;
    }
    SmallVector<int64_t> sizes(type.getShape());
    std::replace(sizes.begin(), sizes.end(), ShapedType::kDynamic, int64_t(0));
    carried[i].tensor = n.splat(type.getElementType(), sizes, 0);
    asked |= n.wants(i);
  }
  if (asked)
    requireIteration("a value that it gives begins with another rank or type");
}

/// Runs the body once on a scratch block, to learn the types of its outputs.
LogicalResult LoopImport::probe() {
  unread.clear();
  changesRank = false;
  Value begins = condition ? condition : n.scalar(n.b.getI1Type(), 1);
  Block scratch;
  OpBuilder::InsertionGuard guard(n.b);
  n.b.setInsertionPointToEnd(&scratch);
  std::vector<Imported> inputs = {Imported(n.intScalar(0)), Imported(begins)};
  // Block arguments stand for the iteration's number and for what is carried: where they
  // begin says nothing of whether the loop goes on.
  auto unknown = [&](Type type) { return Imported(scratch.addArgument(type, n.loc)); };
  inputs[0] = unknown(RankedTensorType::get({}, n.b.getI64Type()));
  for (const Imported &value : carried)
    inputs.push_back(value.kind == Imported::Kind::Tensor ? unknown(value.tensor.getType())
                                                          : value);
  FailureOr<std::vector<Imported>> made = n.graph.subgraph(body, inputs, n.b);
  LogicalResult result = success();
  if (failed(made)) {
    result = failure();
  } else {
    std::optional<SmallVector<int64_t>> more = constantIntegers((*made)[0].tensor);
    bool passed = (*made)[0].tensor == begins;
    conditional = !passed && !(more && (*more)[0]);
    for (size_t i = 0; i < carried.size(); ++i)
      noteChange(i, (*made)[i + 1]);
    outputs.clear();
    for (size_t i = 1 + carried.size(); i < made->size(); ++i) {
      if ((*made)[i].kind != Imported::Kind::Tensor) {
        result = n.invalid(
            "expected a tensor as an output of each iteration, got a sequence or optional");
        break;
      }
      auto type = n.type(refined(n, (*made)[i].tensor, body.outputs[i].type));
      outputs.push_back({type.hasStaticShape() ? type : RankedTensorType(), infoOf((*made)[i])});
    }
  }
  scratch.dropAllDefinedValueUses();
  while (!scratch.empty())
    scratch.back().erase();
  return result;
}

/// Writes an iteration out; whether the next one is made.
FailureOr<Value> LoopImport::writeOut() {
  std::vector<Imported> inputs = {Imported(n.intScalar(writtenOut)),
                                  Imported(n.scalar(n.b.getI1Type(), 1))};
  llvm::append_range(inputs, carried);
  FailureOr<std::vector<Imported>> made = n.graph.subgraph(body, inputs, n.b);
  if (failed(made))
    return failure();
  ++writtenOut;
  std::copy_n(made->begin() + 1, carried.size(), carried.begin());
  for (size_t i = 0; i < firstEntries.size(); ++i)
    firstEntries[i].push_back((*made)[i + 1 + carried.size()]);
  return made->front().tensor;
}

/// Writes out the first iterations, in which values that the body reads, or hands on, have other
/// ranks than later: sums that begin with a scalar, the value of the iteration before. A loop that
/// is known to be short may change ranks in each one.
LogicalResult LoopImport::settleRanks() {
  constexpr int64_t mostOpen = 4, mostKnown = 16;
  std::optional<int64_t> number = knownNumber(count);
  while (!writtenOut || !isOver()) {
    if (failed(probe()))
      return failure();
    bool isKnown = number && *number <= mostKnown && !conditional;
    if (!changesRank || isOver() || writtenOut == (isKnown ? mostKnown : mostOpen))
      return success();
    if (!knownNumber(count) || (condition && !knownNumber(condition)))
      requireIteration("a value that it carries changes its rank in these");
    FailureOr<Value> more = writeOut();
    if (failed(more))
      return failure();
    condition = n.toScalar(*more);
    if (count)
      count = number ? n.intScalar(*number - writtenOut) : n.sub(count, 1.0);
    if (!condition)
      return failure();
  }
  return success();
}

/// Has the carried value `i` go on with the rank and type with which it begins.
LogicalResult LoopImport::keepRank(size_t i, Imported &next) {
  if (carried[i].kind != Imported::Kind::Tensor || next.kind != Imported::Kind::Tensor)
    return success();
  RankedTensorType begins = n.type(carried[i].tensor), goesOn = n.type(next.tensor);
  if (frontend::joinTypes(begins, goesOn))
    return success();
  if (keepsElement(i, goesOn)) {
    next.tensor = n.reshape(next.tensor, begins.getShape());
    return success();
  }
  std::string number = writtenOut ? "iteration " + std::to_string(writtenOut + 1) + " " : "";
  return n.invalid("found a value of the loop, \"" + Twine(body.outputs[i + 1].name) +
                   "\", that begins " + number + "as " + shapeText(begins) + " and goes on as " +
                   shapeText(goesOn) + ": expected one rank and type");
}

FailureOr<Values> LoopImport::iterate(Value index, Values args) {
  Value number = writtenOut ? n.add(index, static_cast<double>(writtenOut)) : index;
  std::vector<Imported> inputs = {Imported(number), Imported(n.scalar(n.b.getI1Type(), 1))};
  ArrayRef<Value> tensors = args;
  for (const Imported &shape : carried)
    inputs.push_back(rebuild(shape, tensors));
  FailureOr<std::vector<Imported>> made = n.graph.subgraph(body, inputs, n.b);
  if (failed(made))
    return failure();
  Values next;
  for (size_t i = 0; i < carried.size(); ++i) {
    Imported &value = (*made)[i + 1];
    if (failed(keepRank(i, value)))
      return failure();
    if (carried[i].boxes)
      value = boxed(n, value);
    if (!sameStructure(value, carried[i])) {
      differ = true;
      return failure();
    }
    again |= !widenTo(carried[i], value);
    flatten(value, next);
  }
  for (auto [i, output] : llvm::enumerate(outputs)) {
    size_t number = i + 1 + carried.size();
    Value entry = (*made)[number].tensor, so_far = tensors[i];
    if (!output.fixed) {
      Info joined = joinInfo(output.info, infoOf((*made)[number]));
      again |= !sameInfo(joined, output.info);
      output.info = joined;
      next.push_back(insertBox(n, so_far, Imported(entry)));
      continue;
    }
    entry = refined(n, entry, body.outputs[number].type);
    if (entry && entry.getType() != output.fixed) {
      // A carried value turned out to change its shape, and so this one.
      output = {RankedTensorType(), infoOf(Imported(entry))};
      again = true;
      return failure();
    }
    next.push_back(fixedCount ? writeEntry(n, so_far, index, entry)
                              : n.concat({so_far, n.unsqueeze(entry, {0})}, 0));
  }
  if (conditional)
    next.push_back(n.toScalar((*made)[0].tensor));
  return next;
}

/// A result whose entries are the elements of a sequence; null after a report.
Value LoopImport::joined(const LoopOutput &output, Value boxes) {
  return concatBoxes(n, boxes, output.info, /*axis=*/0, /*fresh=*/true, /*mayBeEmpty=*/true);
}

/// The result of what each iteration gives: entries of those that are written out, and `rest`, if
/// any, of the others.
LogicalResult LoopImport::setEntries(size_t i, Value rest) {
  Values parts;
  for (const Imported &entry : firstEntries[i])
    parts.push_back(n.unsqueeze(entry.tensor, {0}));
  if (rest)
    parts.push_back(rest);
  if (llvm::any_of(parts, [](Value part) { return !part; }))
    return failure();
  for (Value part : parts)
    if (n.rank(part) != n.rank(parts[0]))
      return n.invalid("found an output of each iteration, \"" +
                       Twine(body.outputs[i + 1 + carried.size()].name) + "\", of rank " +
                       Twine(n.rank(parts[0]) - 1) + " in the first ones and " +
                       Twine(n.rank(part) - 1) + " in later ones: expected one rank");
  Value all = n.concat(parts, 0);
  if (!all)
    return failure();
  n.set(carried.size() + i, Imported(all));
  return success();
}

/// A loop of known length over sequences is written out: their lengths are then
/// known in each iteration.
LogicalResult LoopImport::unroll(int64_t number) {
  for (int64_t i = 0; i < number; ++i)
    if (failed(writeOut()))
      return failure();
  return finish();
}

/// Gives what the iterations that are written out have made, or what a loop without any begins
/// with.
LogicalResult LoopImport::finish() {
  for (auto [i, value] : llvm::enumerate(carried))
    n.set(i, value);
  for (size_t i = 0; i < firstEntries.size(); ++i) {
    Value rest;
    if (!writtenOut &&
        !(rest = outputs[i].fixed ? makeEntries(n, n.ints({0}), outputs[i].fixed)
                                  : joined(outputs[i], toBoxes(n, Imported::sequence({})))))
      return failure();
    if (failed(setEntries(i, rest)))
      return failure();
  }
  return success();
}

/// Builds the loop with what is known of its values now; where the body shows
/// that they are more, once more. What is known only ever gets less.
LogicalResult LoopImport::build() {
  Value begins = condition;
  if (!begins && (conditional || !count))
    begins = n.scalar(n.b.getI1Type(), 1);
  constexpr int mostTries = 64;
  Value rows = fixedCount ? n.reshape(n.maximum(count, 0.0), {1}) : Value();
  for (int tries = 0; tries < mostTries; ++tries) {
    again = differ = false;
    Values inits;
    for (const Imported &value : carried)
      flatten(value, inits);
    for (auto [output, before] : llvm::zip(outputs, firstEntries)) {
      inits.push_back(output.fixed
                          ? makeEntries(n, rows ? rows : n.ints({0}), output.fixed)
                          : toBoxes(n, Imported::sequence({before.begin(), before.end()})));
      for (const Imported &entry : before)
        output.info = joinInfo(output.info, infoOf(entry));
    }
    FailureOr<Values> made = buildLoop(
        n, count, begins, inits, [&](Value index, Values args) { return iterate(index, args); });
    if (failed(made) && differ) {
      for (Imported &value : carried)
        value = boxed(n, value);
      continue;
    }
    if (again) {
      if (succeeded(made) && !made->empty())
        made->front().getDefiningOp()->erase();
      continue;
    }
    if (failed(made))
      return failure();
    ArrayRef<Value> tensors = *made;
    for (auto [i, shape] : llvm::enumerate(carried))
      n.set(i, rebuild(shape, tensors));
    for (auto [i, output] : llvm::enumerate(outputs)) {
      if (!output.fixed)
        firstEntries[i].clear(); // they are among the sequence's elements
      Value value = output.fixed ? tensors[i] : joined(output, tensors[i]);
      if (!value || failed(setEntries(i, value)))
        return failure();
    }
    return success();
  }
  return n.unsupported("found a sequence in a loop whose elements change their "
                       "type from iteration to iteration");
}

LogicalResult LoopImport::run() {
  count = n.has(0) ? n.cast(n.toScalar(n.in(0)), n.b.getI64Type()) : Value();
  condition = n.has(1) ? n.toScalar(n.in(1)) : Value();
  if ((n.has(0) && !count) || (n.has(1) && !condition))
    return failure();
  if (body.inputs.size() != n.inputCount() || body.outputs.size() + 1 < body.inputs.size())
    return n.invalid("found a body whose inputs and outputs do not go with "
                     "those of the loop");
  bool structured = false;
  for (size_t i = 2; i < n.inputCount(); ++i) {
    carried.push_back(n.imported(i));
    structured |= carried.back().kind != Imported::Kind::Tensor;
    // Of what is empty at first, the body's declaration may know more.
    Imported &value = carried.back();
    if (value.kind == Imported::Kind::Tensor || !value.elements.empty() ||
        (value.info && (value.info->kind != Imported::Kind::Tensor || value.info->ranked)))
      continue;
    Info declared = infoOf(n.b.getContext(), body.inputs[i].type);
    if (declared && declared->inner) {
      auto open = std::make_shared<ElementInfo>(*declared->inner);
      open->shape.assign(open->shape.size(), ShapedType::kDynamic);
      value.info = open->kind != Imported::Kind::Tensor || open->ranked ? open : nullptr;
    }
  }
  firstEntries.resize(body.outputs.size() - 1 - carried.size());
  if (failed(settleRanks()))
    return failure();
  if (isOver() && (writtenOut || changesRank || !unread.empty()))
    return finish();
  beginAsWritten();
  bool alwaysBegins = !condition || knownNumber(condition).value_or(0);
  constexpr int64_t mostUnrolled = 256;
  int64_t number = knownNumber(count).value_or(0);
  if (structured && alwaysBegins && !conditional && number > 0 && number <= mostUnrolled)
    return unroll(number);
  fixedCount = count && alwaysBegins && !conditional;
  if (fixedCount)
    condition = {};
  return build();
}

LogicalResult loopNode(NodeImport &n) { return LoopImport(n).run(); }

constexpr OperatorImport table[] = {
    {"", "Loop", 1, 0, loopNode},
    {"", "Scan", 8, 8, batchedScan},
    {"", "Scan", 9, 0, scanNode},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::controlImports() { return table; }
