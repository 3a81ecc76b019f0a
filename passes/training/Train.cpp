//===- Train.cpp - entries that train, of one that infers -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NodeName.h"
#include "passes/gradient/Gradient.h"
#include "passes/training/Passes.h"
#include "passes/training/Training.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/Support/Regex.h"

namespace weir {
#define GEN_PASS_DEF_WEIRTRAINPASS
#include "passes/training/Passes.h.inc"
} // namespace weir

using namespace mlir;
using namespace weir;
using namespace weir::training;

namespace {

/// The entries that one inference entry becomes.
class EntryMaker {
public:
  EntryMaker(func::FuncOp base, TrainingSpec spec) : base(base), spec(std::move(spec)) {}

  LogicalResult run();

private:
  func::FuncOp copy(StringRef name);
  LogicalResult findOutput();
  LogicalResult makeStep();
  LogicalResult makeEvaluate();
  void makePredict();
  LogicalResult differentiateLoss(func::FuncOp step, std::vector<Weight> &weights, Value loss,
                                  const StepState &state, Adjoint &a,
                                  std::vector<Trained> &trained);
  void sumOverParts(func::FuncOp step, Value &loss, std::vector<Trained> &trained, Moved &moved,
                    Adjoint &a);
  bool trains(const Weight &weight) const;
  void setResults(func::FuncOp function, ArrayRef<Value> results, ArrayRef<std::string> names);
  void finish(func::FuncOp function);
  InFlightDiagnostic error() { return emitError(UnknownLoc::get(base.getContext())); }

  func::FuncOp base;
  TrainingSpec spec;
  llvm::Regex pattern;
  size_t output = 0; ///< the result that the loss is computed of
  std::set<std::string> variables;
  SmallVector<func::FuncOp> made;
};

std::string resultName(func::FuncOp function, size_t i) {
  auto name = function.getResultAttrOfType<StringAttr>(i, "weir.name");
  return name ? name.str() : "output" + std::to_string(i);
}

} // namespace

func::FuncOp EntryMaker::copy(StringRef name) {
  OpBuilder b(base);
  auto function = cast<func::FuncOp>(b.clone(*base));
  function.setName(name);
  function->setAttr("weir.entry", b.getStringAttr(name));
  made.push_back(function);
  return function;
}

bool EntryMaker::trains(const Weight &weight) const {
  if (weight.isStatistic)
    return false;
  return spec.trainable.empty() ? weight.isTrainable : pattern.match(weight.name);
}

LogicalResult EntryMaker::findOutput() {
  std::string names;
  for (size_t i = 0; i < base.getNumResults(); ++i) {
    if (resultName(base, i) == spec.output) {
      output = i;
      return success();
    }
    names += (names.empty() ? "\"" : ", \"") + resultName(base, i) + "\"";
  }
  error() << "W0411: found no output \"" << spec.output << "\" to train by; possible: " << names;
  return failure();
}

/// Makes `results` the function's, and drops feeds that are used no longer.
void EntryMaker::setResults(func::FuncOp function, ArrayRef<Value> results,
                            ArrayRef<std::string> names) {
  Builder b(function.getContext());
  Block &body = function.front();
  body.getTerminator()->setOperands(ValueRange(results));
  SmallVector<DictionaryAttr> attributes;
  for (const std::string &name : names)
    attributes.push_back(b.getDictionaryAttr(b.getNamedAttr("weir.name", b.getStringAttr(name))));
  function.removeResAttrsAttr();
  function.setType(b.getFunctionType(body.getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllResultAttrs(attributes);
}

/// What is left of marks; operations that only a dropped result needed; feeds likewise.
void EntryMaker::finish(func::FuncOp function) {
  dropMarks(function);
  dropGivenGradients(function.front());
  SmallVector<Operation *> dead;
  for (Operation &op : llvm::reverse(function.front()))
    dead.push_back(&op);
  for (Operation *op : dead)
    if (isOpTriviallyDead(op))
      op->erase();
  llvm::BitVector unused(function.getNumArguments());
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgument(i).use_empty() &&
        (i >= base.getNumArguments() || !base.getArgument(i).use_empty()))
      unused.set(i);
  (void)function.eraseArguments(unused);
}

LogicalResult EntryMaker::differentiateLoss(func::FuncOp step, std::vector<Weight> &weights,
                                            Value loss, const StepState &state, Adjoint &a,
                                            std::vector<Trained> &trained) {
  Value seed = a.number(loss, 1);
  if (state.lossScale.value)
    seed = a.cast(state.lossScale.value, Adjoint::type(loss).getElementType());
  SmallVector<const Weight *> asked;
  SmallVector<Value> xs;
  for (const Weight &weight : weights)
    if (trains(weight)) {
      asked.push_back(&weight);
      xs.push_back(weight.value);
    }
  std::vector<std::pair<Location, std::string>> refused;
  FailureOr<SmallVector<Value>> gradients = failure();
  {
    ScopedDiagnosticHandler handler(a.b.getContext(), [&](Diagnostic &diagnostic) {
      refused.emplace_back(diagnostic.getLocation(), diagnostic.str());
      return success();
    });
    gradients = differentiate({loss}, {seed}, xs, a.b);
  }
  if (failed(gradients)) {
    Location at = refused.empty() ? a.loc : refused.front().first;
    emitError(at) << "W0412: found no gradient of what this computes, through which the loss hangs "
                     "on weights to train; possible: --trainable=REGEX for weights behind it";
    return failure();
  }
  std::string without;
  for (auto [weight, gradient] : llvm::zip(asked, *gradients)) {
    if (gradient)
      trained.push_back({weight, gradient});
    else if (!spec.trainable.empty())
      without += (without.empty() ? "\"" : ", \"") + weight->name + "\"";
  }
  if (trained.empty()) {
    std::string found;
    for (const Weight &weight : weights)
      if (found.size() < 200)
        found += (found.empty() ? "; its weights: \"" : ", \"") + weight.name + "\"";
    error() << "W0414: found no weight that "
            << (spec.trainable.empty() ? "" : "matches --trainable=" + spec.trainable + " and ")
            << "the loss depends on" << (found.empty() ? "; the model has none" : found);
    return failure();
  }
  // As the backward pass has them: a gradient ends with its update.
  DenseMap<Operation *, int64_t> places;
  for (auto [i, op] : llvm::enumerate(*a.b.getInsertionBlock()))
    places[&op] = int64_t(i);
  llvm::stable_sort(trained, [&](const Trained &x, const Trained &y) {
    return places.lookup(x.gradient.getDefiningOp()) < places.lookup(y.gradient.getDefiningOp());
  });
  if (spec.optimizer == "lamb")
    for (const Trained &one : trained)
      if (one.weight->isPart) {
        emitWarning(one.weight->value.getLoc())
            << "W0423: found --optimizer=lamb, which takes the norms of each part of a weight that "
               "--shard divides for itself; possible: adamw, whose step is the whole weight's";
        break;
      }
  if (!without.empty())
    emitWarning(UnknownLoc::get(base.getContext()))
        << "W0415: found weights that --trainable=" << spec.trainable
        << " names and the loss does not depend on: " << without << "; they stay as they are";
  return success();
}

/// All parts of the batch take the same step: of all gradients, and with the mean of their
/// statistics.
void EntryMaker::sumOverParts(func::FuncOp step, Value &loss, std::vector<Trained> &trained,
                              Moved &moved, Adjoint &a) {
  if (spec.parts() < 2 && spec.stages < 2)
    return;
  loss = sumOverBatch(loss, spec, a);
  for (Trained &one : trained) {
    Named named(*one.weight, a);
    one.gradient = sumOverBatch(one.gradient, spec, a);
  }
  for (auto &[name, value] : moved) {
    Value sum = sumOverBatch(value, spec, a);
    value = a.over(sum, a.number(sum, double(spec.parts())));
  }
  if (spec.replicas > 1)
    step->setAttr(replicasAttr, a.b.getI64IntegerAttr(spec.replicas));
  if (spec.stages > 1 || spec.microBatches > 1) {
    step->setAttr(stagesAttr, a.b.getI64IntegerAttr(spec.stages));
    step->setAttr(microBatchesAttr, a.b.getI64IntegerAttr(spec.microBatches));
  }
  if (!spec.sharded.empty()) {
    SmallVector<StringRef> names(spec.sharded.begin(), spec.sharded.end());
    step->setAttr(shardedAttr, a.b.getStrArrayAttr(names));
  }
}

LogicalResult EntryMaker::makeStep() {
  func::FuncOp function = copy("train_step");
  Operation *end = function.front().getTerminator();
  OpBuilder b(end);
  Adjoint a(b, function.getLoc());
  std::vector<Weight> weights = findWeights(function);
  auto counter = RankedTensorType::get({}, b.getI64Type());
  StepState state;
  state.step = variable(b, a.loc, "optimizer/step", counter, 0);
  if (spec.accumulate > 1)
    state.micro = variable(b, a.loc, "optimizer/micro_batch", counter, 0);
  if (spec.precision == "f16")
    state.lossScale = variable(b, a.loc, "optimizer/loss_scale",
                               RankedTensorType::get({}, b.getF32Type()), spec.lossScale);
  Value draw = state.step.value;
  if (state.micro.value) {
    b.setInsertionPointAfterValue(state.step.value);
    draw = a.plus(a.times(draw, a.number(draw, spec.accumulate)), state.micro.value);
    b.setInsertionPoint(end);
  }
  Moved moved =
      normalizeByBatch(function, weights, [&](const Weight &weight) { return trains(weight); });
  dropElements(function, draw, spec);
  narrowProducts(function, spec);
  Value loss = buildLoss(function, spec, end->getOperand(output), true, a);
  std::vector<Trained> trained;
  if (!loss || failed(differentiateLoss(function, weights, loss, state, a, trained)))
    return failure();
  if (spec.feedsRate)
    state.fedRate = addFeed(function, "learning_rate", RankedTensorType::get({}, b.getF32Type()));

  sumOverParts(function, loss, trained, moved, a);

  // Marks are about to be replaced: what stands for values holds them as operands.
  SmallVector<Value> held = {loss};
  for (const Trained &one : trained) {
    variables.insert(one.weight->name);
    held.push_back(one.gradient);
  }
  for (auto &[name, value] : moved) {
    variables.insert(name);
    held.push_back(value);
  }
  end->setOperands(held);
  settleWeights(weights, variables);
  for (size_t i = 0; i < trained.size(); ++i)
    trained[i].gradient = end->getOperand(1 + i);
  applyOptimizer(spec, trained, state, a);
  for (size_t i = 0; i < moved.size(); ++i)
    for (const Weight &weight : weights)
      if (weight.name == moved[i].first)
        assign(a, {weight.value.getDefiningOp<VariableReadOp>().getResource(), weight.value},
               end->getOperand(1 + trained.size() + i));
  Value reported = a.cast(end->getOperand(0), b.getF32Type());
  setResults(function, {reported}, {"loss"});
  return success();
}

LogicalResult EntryMaker::makeEvaluate() {
  func::FuncOp function = copy("evaluate");
  Operation *end = function.front().getTerminator();
  OpBuilder b(end);
  Adjoint a(b, function.getLoc());
  std::vector<Weight> weights = findWeights(function);
  settleWeights(weights, variables);
  dropMarks(function);
  // One replica evaluates, for all, and at once.
  TrainingSpec alone = spec;
  alone.replicas = alone.stages = alone.microBatches = 1;
  Value loss = buildLoss(function, alone, end->getOperand(output), false, a);
  if (!loss)
    return failure();
  SmallVector<Value> results = {a.cast(loss, b.getF32Type())};
  SmallVector<std::string> names = {"loss"};
  for (size_t i = 0; i < base.getNumResults(); ++i) {
    bool isLoss = spec.loss == "loss" && i == output;
    if (base.getResultAttr(i, furtherAttr) || isLoss || resultName(base, i) == "loss")
      continue;
    results.push_back(end->getOperand(i));
    names.push_back(resultName(base, i));
  }
  setResults(function, results, names);
  return success();
}

void EntryMaker::makePredict() {
  func::FuncOp function = copy(spec.predict);
  Operation *end = function.front().getTerminator();
  std::vector<Weight> weights = findWeights(function);
  settleWeights(weights, variables);
  SmallVector<Value> results;
  SmallVector<std::string> names;
  // A loss is a result only where there is no other.
  for (bool takesLoss : {false, true}) {
    for (size_t i = 0; i < base.getNumResults() && (results.empty() || !takesLoss); ++i) {
      bool isLoss = spec.loss == "loss" && i == output;
      if (base.getResultAttr(i, furtherAttr) || isLoss != takesLoss)
        continue;
      results.push_back(end->getOperand(i));
      names.push_back(resultName(base, i));
    }
  }
  if (results.empty()) {
    results.push_back(end->getOperand(output));
    names.push_back(resultName(base, output));
  }
  setResults(function, results, names);
}

LogicalResult EntryMaker::run() {
  if (!spec.trainable.empty()) {
    pattern = llvm::Regex(spec.trainable);
    std::string why;
    if (!pattern.isValid(why))
      return error() << "W0414: found --trainable=" << spec.trainable
                     << ", which is no regular expression: " << why,
             failure();
  }
  base->removeAttr(trainAttr);
  recognizeBatchNorm(base);
  if (failed(findOutput()) || failed(makeStep()) || failed(makeEvaluate()))
    return failure();
  makePredict();
  // The program's first entry does what it did without training.
  made.back()->moveBefore(made.front());
  for (func::FuncOp function : made)
    finish(function);
  base.erase();
  return success();
}

namespace {

struct Train : weir::impl::WeirTrainPassBase<Train> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> entries;
    getOperation().walk([&](func::FuncOp function) {
      if (function->hasAttr(trainAttr))
        entries.push_back(function);
    });
    for (func::FuncOp entry : entries) {
      auto attr = dyn_cast<DictionaryAttr>(entry->getAttr(trainAttr));
      if (!attr || !entry.getBody().hasOneBlock()) {
        entry.emitError("asks for training in no way that is known");
        return signalPassFailure();
      }
      if (failed(EntryMaker(entry, TrainingSpec::fromAttr(attr)).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
