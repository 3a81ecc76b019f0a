//===- StepRewriter.h - one step function becomes LLVM -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_HOST_STEPREWRITER_H
#define WEIR_COMPILER_CODEGEN_HOST_STEPREWRITER_H

#include "compiler/codegen/host/StepLowering.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/PatternMatch.h"

namespace weir {

/// Converts the plan's operations of one step, a pattern each, by MLIR's dialect conversion.
/// Buffers become memref descriptors, by way of casts that the conversion of memref to LLVM
/// removes. What patterns share, and what is the step's own, is here: the run's context, where
/// a step ends with a code, where it waits. A device adds patterns that come before the host's.
class StepRewriter {
public:
  StepRewriter(mlir::func::FuncOp function, StepTables &tables);
  virtual ~StepRewriter() = default;
  mlir::LogicalResult run();

protected:
  friend class OtherwisePattern;

  /// Patterns of other devices than the host (StepPattern with `deviceBenefit`).
  virtual void addPatterns(mlir::RewritePatternSet &patterns) {}
  /// The same for all operations: replaces `op`, at the insertion point, in the device's way;
  /// false: as on the host.
  virtual bool rewriteOtherwise(mlir::Operation *op) { return false; }
  /// Whether the step waits even without a receive.
  virtual bool alwaysWaits() const { return false; }
  /// Whether launches may become rows of a table.
  virtual bool launchesByTable() const { return true; }
  /// Emits what ends a step that returns `code`, and returns the code that it
  /// ends with.
  virtual mlir::Value finish(mlir::Value code) { return code; }

public:
  /// The runtime's functions for the values of variables.
  virtual llvm::StringRef readFunction() const { return "weir_rt_variable_read"; }
  virtual llvm::StringRef assignFunction() const { return "weir_rt_variable_assign"; }

  // What patterns are written with, at the insertion point of `b`.

  struct Buffer {
    mlir::Value pointer;
    llvm::SmallVector<mlir::Value> dims; ///< i64
    mlir::MemRefType type;
  };

  mlir::Value grainOf(plan::RunOp op, mlir::Value range, llvm::ArrayRef<mlir::Value> sizes);
  /// `take` is the runtime's function that gives what has arrived.
  void rewriteReceive(plan::ReceiveOp op, llvm::StringRef take);
  /// Suspends the step while several tensors of a loop's edge wait at a receiver.
  void awaitRoom(plan::SendOp send);
  /// What is emitted next stands in front of `op`, and `rewriter` is told of it.
  void begin(mlir::Operation *op, mlir::RewriterBase &rewriter);
  /// Replaces the operation that is being converted by values, or by nothing.
  void replace(mlir::Operation *op, mlir::ValueRange values);
  void erase(mlir::Operation *op);

  // Values
  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  mlir::Value toI64(mlir::Value index);
  Buffer unpack(mlir::Value memref);
  mlir::Value pack(mlir::MemRefType type, mlir::Value pointer, mlir::ValueRange dims);
  mlir::Value bytesOf(mlir::MemRefType type, mlir::ValueRange dims);
  /// The same for sizes that data says: the largest number where it would be
  /// more, which no allocation has.
  mlir::Value boundedBytesOf(mlir::MemRefType type, mlir::ValueRange dims);
  /// A descriptor of type weir_tensor on the stack.
  mlir::Value tensorOnStack(const Buffer &buffer);
  /// The elements of a constant of strings: a table of the object, which points
  /// into its contents.
  mlir::Value stringTable(mlir::DenseStringElementsAttr strings);
  mlir::Value packFromTensor(mlir::MemRefType type, mlir::Value tensor);
  /// Space of `bytes` in the function's frame.
  mlir::Value stack(int64_t bytes);
  /// Space that each of several calls uses while it runs, as large as the most that
  /// one asked for.
  struct Scratch {
    mlir::Value of(StepRewriter &rewriter, int64_t bytes);
    mlir::Value space;
  };
  mlir::Value offset(mlir::Value pointer, int64_t bytes);
  /// So many bytes behind `base`, by an index that is a value.
  mlir::Value behind(mlir::Value base, int64_t bytes);
  /// The sizes of a buffer; the open ones are `open`, indices.
  llvm::SmallVector<mlir::Value> sizesOf(mlir::MemRefType type, mlir::ValueRange open = {});
  /// Ends the step where there is no memory at `data`.
  void requireMemory(mlir::Value data);
  mlir::Value loadField(mlir::Value pointer, int64_t bytes, mlir::Type type);
  void storeField(mlir::Value value, mlir::Value pointer, int64_t bytes);
  mlir::Value call(llvm::StringRef name, mlir::Type result, mlir::ValueRange arguments);
  mlir::Value linearIndex(const Buffer &buffer, mlir::ValueRange indices);

  /// Ends the step with `code` where it is not zero; emission goes on behind.
  void returnIfError(mlir::Value code);
  int site(mlir::Operation *op, llvm::StringRef message, int code);

  // Coroutines

  /// What a wait's call is made behind; says that the step may have suspended.
  mlir::Value beginSuspension();
  /// Suspends where `ready` (i32) is 0; the code goes on behind.
  void suspendUnless(mlir::Value ready, mlir::Value save);

  mlir::func::FuncOp function;
  StepTables &tables;
  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::Type pointer;
  mlir::Value context;
  Scratch pointers, sizes;          ///< of the launch that is about to be made
  mlir::Value handle;               ///< of the coroutine
  mlir::Block *failBlock = nullptr; ///< takes the code to return

private:
  /// Replaces launches that follow each other, and all that is known of, by a call
  /// that makes them by the rows of `StepTables::launches`.
  void tabulateLaunches();
  void tabulate(llvm::ArrayRef<plan::RunOp> launches);
  /// The same where sizes are open: `rows` are launches, and what asks for memory and
  /// frees it, `views` those of the block that see such memory.
  void tabulateOpen(llvm::ArrayRef<mlir::Operation *> rows,
                    llvm::ArrayRef<mlir::Operation *> views);
  class OpenRows;
  void declareInFront(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments);
  /// Erases descriptors that nothing reads, since their parts were known: most of a step that
  /// launches kernels one by one.
  void eraseUnreadDescriptors();
  /// Gives all values that are buffers of strings a type that upstream lowers.
  void makeStringsPlain();
  void beginCoroutine();
  void suspend(mlir::Value save);
  mlir::LogicalResult convert();
  void end();

  mlir::Block *head = nullptr;            ///< where frame space is made
  mlir::RewriterBase *rewriter = nullptr; ///< while an operation is converted
  bool isCoroutine = false;
  mlir::Value coroutineId, everSuspended;
  mlir::Block *suspendBlock = nullptr;
};

inline constexpr unsigned hostBenefit = 1, deviceBenefit = 2;

/// How one operation of the plan is computed in a step; `StepT`: on which device. Patterns are
/// the step's, and live as long.
template <typename OpT, typename StepT = StepRewriter>
class StepPattern : public mlir::OpRewritePattern<OpT> {
public:
  explicit StepPattern(StepT &step, unsigned benefit = deviceBenefit)
      : mlir::OpRewritePattern<OpT>(step.function.getContext(), benefit), step(step) {}

  mlir::LogicalResult matchAndRewrite(OpT op, mlir::PatternRewriter &rewriter) const final {
    step.begin(op, rewriter);
    return convert(op);
  }

protected:
  /// Replaces `op` by what it emits at the insertion point of `step.b`; failure, with nothing
  /// changed: it is another pattern's.
  virtual mlir::LogicalResult convert(OpT op) const = 0;

  StepT &step;
};

/// Adds the host's patterns.
void addHostPatterns(mlir::RewritePatternSet &patterns, StepRewriter &step);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_HOST_STEPREWRITER_H
