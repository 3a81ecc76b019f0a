//===- Training.h - the parts of weir-train ---------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each part works on one function of one block: finding weights, giving it the form
// that it trains in, the loss, the optimizer. All write at the end of the block,
// before its terminator, unless said otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_TRAINING_TRAINING_H
#define WEIR_PASSES_TRAINING_TRAINING_H

#include "dialects/weir/Training.h"
#include "passes/gradient/GradientRules.h"
#include "passes/training/TrainingSpec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <set>

namespace weir::training {

using gradient::Adjoint;
using gradient::Ints;
using gradient::IntVector;
using mlir::Value;

/// A value that training may change.
struct Weight {
  std::string name, container;
  mlir::RankedTensorType type;
  mlir::Attribute initial;  ///< null: of a variable without one
  Value value;              ///< in the function: a marked gate's, or a read at its head
  bool isTrainable = true;  ///< as the model says
  bool isStatistic = false; ///< of batch normalisation: moves, and has no gradient
  bool isPart = false;      ///< of a weight that devices share (passes/simplify/ShardProducts.cpp)
};

/// The weights of `function`: constants that importers marked, and variables that it
/// only reads; all reads of one become one at the head. Of a name that two constants
/// have, the second gets a number.
std::vector<Weight> findWeights(mlir::func::FuncOp function);

/// Makes one operation of batch normalisation that is written out.
void recognizeBatchNorm(mlir::func::FuncOp function);

/// Makes of marked constants whose names are in `variables` variables of the session,
/// and of others plain constants.
void settleWeights(std::vector<Weight> &weights, const std::set<std::string> &variables);
/// Removes all other marks: dropout drops nothing.
void dropMarks(mlir::func::FuncOp function);

/// A variable of the session, at the head of the function that `b` writes in.
struct State {
  Value resource, value;
};
State variable(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name,
               llvm::StringRef container, mlir::RankedTensorType type, mlir::Attribute initial);
/// One that begins with the same number everywhere.
State variable(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name,
               mlir::RankedTensorType type, double initial);
void assign(Adjoint &a, const State &state, Value value);
/// A scalar of type `element`.
Value scalar(Adjoint &a, mlir::Type element, double value);

/// Statistics of batch normalisation by their weights' names: what they become.
using Moved = std::vector<std::pair<std::string, Value>>;

/// Batch normalisation by the batch's own statistics, unless `trains` says of its scale
/// and its bias that they stay as they are. Warns (W0416) of one in a region.
Moved normalizeByBatch(mlir::func::FuncOp function, const std::vector<Weight> &weights,
                       llvm::function_ref<bool(const Weight &)> trains);

/// Marked dropout draws its elements, others in each step (a scalar i64) and part of the batch.
void dropElements(mlir::func::FuncOp function, Value step, const TrainingSpec &spec);

/// Products and convolutions of f32 take and give `spec.precision`, but for nodes that
/// are kept.
void narrowProducts(mlir::func::FuncOp function, const TrainingSpec &spec);

/// A further feed of an entry.
Value addFeed(mlir::func::FuncOp function, llvm::StringRef name, mlir::Type type,
              llvm::ArrayRef<mlir::NamedAttribute> attributes = {});

/// The sum of what all replicas have; the value itself where there is one.
Value sumOverReplicas(Value value, int64_t replicas, Adjoint &a);

/// The sum of what all parts of the batch have: micro-batches, and replicas.
Value sumOverBatch(Value value, const TrainingSpec &spec, Adjoint &a);

/// The loss, a scalar of f32 or f64, of a part of the batch its share of it; null after an error.
/// Labels that are none of the entry's feeds become one.
/// `isTrained`: it is about to be differentiated.
Value buildLoss(mlir::func::FuncOp function, const TrainingSpec &spec, Value output, bool isTrained,
                Adjoint &a);

/// A trained weight and its gradient.
struct Trained {
  const Weight *weight;
  Value gradient;
};

/// While it lives, what is made is named by a weight: nodes of one name are on one device, the
/// weight's, so that no gradient goes to another's.
class Named {
public:
  Named(const Weight &weight, Adjoint &a) : a(a), before(a.loc) { a.loc = weight.value.getLoc(); }
  ~Named() { a.loc = before; }
  Named(const Named &) = delete;
  Named &operator=(const Named &) = delete;

private:
  Adjoint &a;
  const mlir::Location before;
};

/// What a session counts, and what is fed, of a step.
struct StepState {
  State step;      ///< steps of the optimizer so far, i64
  State micro;     ///< micro-batches since the last one, i64; null: each is a step
  State lossScale; ///< what the loss is multiplied by, f32; null: by nothing
  Value fedRate;   ///< f32; null: `spec.rate`
};

/// All that a step changes: accumulates, clips, applies the optimizer, and assigns
/// variables.
void applyOptimizer(const TrainingSpec &spec, llvm::ArrayRef<Trained> trained,
                    const StepState &state, Adjoint &a);

/// The learning rate of a step (i64, from 0), f64.
Value learningRate(const TrainingSpec &spec, Value step, Value fedRate, Adjoint &a);

} // namespace weir::training

#endif // WEIR_PASSES_TRAINING_TRAINING_H
