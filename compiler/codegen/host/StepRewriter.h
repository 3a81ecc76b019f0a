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

namespace weir {

/// Replaces the plan's operations of one step. Buffers become memref
/// descriptors, by way of casts that the conversion of memref to LLVM removes.
class StepRewriter {
public:
  StepRewriter(mlir::func::FuncOp function, StepTables &tables);
  virtual ~StepRewriter() = default;
  mlir::LogicalResult run();

protected:
  /// Steps of other devices than the host: replaces `op`, at the insertion
  /// point, in their way; false: as on the host.
  virtual bool rewriteOtherwise(mlir::Operation *op) { return false; }
  /// Whether the step waits even without a receive.
  virtual bool alwaysWaits() const { return false; }
  /// Whether launches may become rows of a table.
  virtual bool launchesByTable() const { return true; }
  /// The runtime's functions for the values of variables.
  virtual llvm::StringRef readFunction() const { return "weir_rt_variable_read"; }
  virtual llvm::StringRef assignFunction() const { return "weir_rt_variable_assign"; }
  /// Emits what ends a step that returns `code`, and returns the code that it
  /// ends with.
  virtual mlir::Value finish(mlir::Value code) { return code; }

  struct Buffer {
    mlir::Value pointer;
    llvm::SmallVector<mlir::Value> dims; ///< i64
    mlir::MemRefType type;
  };

  void rewrite(mlir::Operation *op);
  void rewriteRun(plan::RunOp op);
  mlir::Value grainOf(plan::RunOp op, mlir::Value range, llvm::ArrayRef<mlir::Value> sizes);
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
  void rewriteLibrary(plan::LibraryOp op);
  /// `take` is the runtime's function that gives what has arrived.
  void rewriteReceive(plan::ReceiveOp op, llvm::StringRef take);
  /// Suspends the step while several tensors of a loop's edge wait at a receiver.
  void awaitRoom(plan::SendOp send);
  void rewriteAwaitSent(plan::AwaitSentOp op);
  void rewriteWait(plan::LibraryOp op);

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
  /// Gives all values that are buffers of strings a type that upstream lowers.
  void makeStringsPlain();
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
  mlir::Value loadField(mlir::Value pointer, int64_t bytes, mlir::Type type);
  void storeField(mlir::Value value, mlir::Value pointer, int64_t bytes);
  mlir::Value call(llvm::StringRef name, mlir::Type result, mlir::ValueRange arguments);
  mlir::Value linearIndex(const Buffer &buffer, mlir::ValueRange indices);

  /// Ends the step with `code` where it is not zero; emission goes on behind.
  void returnIfError(mlir::Value code);
  int site(mlir::Operation *op, llvm::StringRef message, int code);

  // Coroutines
  void beginCoroutine();
  /// What a wait's call is made behind; says that the step may have suspended.
  mlir::Value beginSuspension();
  /// Suspends where `ready` (i32) is 0; the code goes on behind.
  void suspendUnless(mlir::Value ready, mlir::Value save);
  void suspend(mlir::Value save);

  mlir::func::FuncOp function;
  StepTables &tables;
  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::Type pointer;
  mlir::Value context;
  mlir::Block *head = nullptr;      ///< where frame space is made
  mlir::Block *failBlock = nullptr; ///< takes the code to return
  Scratch pointers, sizes;          ///< of the launch that is about to be made
  bool isCoroutine = false;
  mlir::Value handle, coroutineId, everSuspended;
  mlir::Block *suspendBlock = nullptr;
};

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_HOST_STEPREWRITER_H
