//===- StepBuilder.h - tensors of a step become buffers ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PLAN_STEPBUILDER_H
#define WEIR_PASSES_PLAN_STEPBUILDER_H

#include "dialects/plan/Plan.h"
#include "dialects/weir/RecursiveReader.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/analysis/ScalarForm.h"

namespace weir::plan {

/// The memref type of a tensor's buffer.
mlir::MemRefType bufferType(mlir::Type tensor);

/// Where a tensor lives: in a buffer, in scalars, or in both.
struct TensorState {
  mlir::Value buffer;
  llvm::SmallVector<mlir::Value> scalars; ///< row-major, in compute form
  bool hasScalars = false;
  llvm::SmallVector<mlir::Value> dims; ///< of type index
};

/// The session's state, numbered over the whole module.
struct SlotTable {
  struct Slot {
    std::string name, container;
    mlir::Type type;
    mlir::Attribute initial;
    bool isCopy = false; ///< a replica's, of the variable of its name
    int64_t device = 0;  ///< whose step uses it
    int64_t shard = -1;  ///< the dimension that it is a part along of its name's value; -1: all
  };
  std::vector<Slot> slots;
  int64_t add(VariableOp op);
};

/// Builds the step function of one entry on one device.
class StepBuilder : public RecursiveReader {
public:
  StepBuilder(mlir::OpBuilder &b, mlir::SymbolTable &symbols, SlotTable &slots)
      : RecursiveReader(b, b.getUnknownLoc()), symbols(symbols), slots(slots) {}

  /// Translates `source` into the empty function `target`.
  mlir::LogicalResult build(mlir::func::FuncOp source, mlir::func::FuncOp target);

  void require(mlir::Operation *op, mlir::Value ok, llvm::StringRef message, int code,
               mlir::Value value0, mlir::Value value1) override;

protected:
  /// What a step has in memory; so are constants whose elements are not at hand (in
  /// another order, or of the model's file), however few they are.
  bool isLeaf(mlir::Value tensor) override {
    return states.count(tensor) ||
           (tensor.getDefiningOp<ConstantOp>() && !constantElements(tensor));
  }
  mlir::Value leafElement(mlir::Value tensor, mlir::ValueRange indices) override;
  mlir::Value leafDim(mlir::Value tensor, unsigned i) override;
  mlir::Value constantElement(mlir::Value tensor, mlir::ElementsAttr value,
                              mlir::ValueRange indices) override;

private:
  mlir::LogicalResult visitBlock(mlir::Block &block);
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult visitLaunch(LaunchOp op);
  void checkSizes(mlir::Operation *op);
  llvm::StringRef nameOf(mlir::Operation *op);
  mlir::LogicalResult visitIf(IfOp op);
  mlir::LogicalResult visitWhile(WhileOp op);
  mlir::LogicalResult visitScalar(mlir::Operation *op);
  mlir::LogicalResult visitReshape(ReshapeOp op);
  mlir::LogicalResult visitAssert(AssertOp op);
  mlir::LogicalResult visitAllReduce(plan::AllReduceOp op);
  mlir::LogicalResult visitSend(weir::SendOp op);
  mlir::LogicalResult visitReceive(weir::ReceiveOp op);
  mlir::LogicalResult visitLibrary(mlir::Operation *op);
  /// Of an edge: the first and only, or, inside of regions, the next.
  mlir::Value iterationOf(mlir::Operation *op);
  mlir::LogicalResult visitReturn(mlir::func::ReturnOp op);
  bool computeInFetch(mlir::Value result, mlir::IntegerAttr index);
  mlir::Value elementsOf(mlir::MemRefType type, mlir::ValueRange sizes);
  void makeRoomFor(mlir::MemRefType written, mlir::ValueRange writtenSizes, mlir::MemRefType type,
                   llvm::MutableArrayRef<mlir::Value> sizes);

  /// The buffer of `tensor`, written from its scalars or its constant if need be.
  mlir::Value bufferOf(mlir::Value tensor);
  TensorState &stateOf(mlir::Value tensor);
  /// A new buffer of `tensor`'s type with the given sizes.
  mlir::Value allocate(mlir::Type tensor, mlir::ValueRange dims);
  void setBuffer(mlir::Value tensor, mlir::Value buffer);
  llvm::SmallVector<mlir::Value> dynamicOnly(mlir::Type tensor, mlir::ValueRange dims);
  llvm::SmallVector<mlir::Value> dimsOfBuffer(mlir::Value buffer);
  llvm::SmallVector<mlir::Value> scalarsOf(mlir::Value tensor);
  mlir::Value blob(mlir::Attribute value, mlir::Type tensor);
  /// Parallel range of a kernel whose first result has these dims.
  mlir::Value rangeOf(KernelOp kernel, mlir::ValueRange dims);
  /// Operations: the product of a number and sizes.
  struct SizedWork {
    int64_t factor;
    llvm::SmallVector<mlir::Value> sizes;
  };
  mlir::LogicalResult sizesOfResults(mlir::Block &body,
                                     llvm::SmallVector<llvm::SmallVector<mlir::Value>> &sizes);
  mlir::LogicalResult visitStage(LaunchOp stage, llvm::SmallVector<SizedWork> &work);
  /// What a kernel computes while its arguments have states (see LaunchWork.h).
  llvm::SmallVector<SizedWork> workOfBody(KernelOp kernel);
  /// The work of a launch of `kernel` by the numbers of its open sizes; `results` are the sizes of
  /// its results. Null: nothing is open.
  mlir::ArrayAttr numberedWork(KernelOp kernel,
                               llvm::ArrayRef<llvm::SmallVector<mlir::Value>> results,
                               llvm::ArrayRef<SizedWork> work);
  /// What a region carries or yields: scalars, or one buffer.
  /// `type` is that of the value on the other side of the border.
  void appendCarried(mlir::Value tensor, mlir::Type type, bool isDecided,
                     llvm::SmallVectorImpl<mlir::Value> &to);
  /// What a loop or conditional of the step asks: a scalar, or, where a device decides
  /// itself, a load from the buffer that has it.
  mlir::Value conditionOf(mlir::Operation *control, mlir::Value condition);

  mlir::SymbolTable &symbols;
  SlotTable &slots;
  mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Value, TensorState> states;
  llvm::DenseMap<mlir::Value, int64_t> resources;
  llvm::DenseMap<mlir::Attribute, mlir::Value> blobs;
  llvm::DenseMap<mlir::Value, mlir::Value> saved; ///< tokens of swap_out
  LaunchOp launch;                                ///< the one whose kernel is looked into
  unsigned quiet = 0;                             ///< sizes are asked for a second time: no checks
};

} // namespace weir::plan

#endif // WEIR_PASSES_PLAN_STEPBUILDER_H
