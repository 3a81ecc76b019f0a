//===- ReplicaMeetings.h - where replicas of a step meet --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_TRAINING_REPLICAMEETINGS_H
#define WEIR_PASSES_TRAINING_REPLICAMEETINGS_H

#include "dialects/weir/Weir.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace weir::training {

/// Whether a gate stands for what other replicas have.
bool isMeeting(mlir::Operation *op);

/// Sums and gathered parts of a step that has all replicas, operation by operation side by side.
/// Each becomes a collective of a bucket: one is on its way while the next are computed.
///
///   sum      all get the sum of what each has
///   scatter  a sum of which replica r uses the r-th part alone: no more is sent to it
///   gather   all get what each has, one behind the other
class Meetings {
public:
  using Value = mlir::Value;

  /// `devices`: of `places` places each replica's, one replica behind the other.
  Meetings(llvm::ArrayRef<std::string> devices, int64_t places, mlir::OpBuilder &b)
      : devices(devices), places(places), b(b) {}

  /// Notes the marks that a mark has become, one a replica, in the order of the block.
  void add(llvm::ArrayRef<GateOp> marks);
  /// Replaces all marks.
  void run();

private:
  enum class Way { sum, scatter, gather };
  /// A value of each replica.
  struct Meeting {
    Way way;
    llvm::SmallVector<Value> given; ///< by replica
    /// By replica: what stands for the result. Of a gather one a part, of all others one.
    llvm::SmallVector<llvm::SmallVector<mlir::Operation *>> marks;
    int64_t place = 0; ///< of all marks
    int64_t axis = 0;  ///< of a scatter or gather: along which parts follow each other

    mlir::RankedTensorType type() const {
      return llvm::cast<mlir::RankedTensorType>(given.front().getType());
    }
  };
  size_t count() const { return devices.size() / size_t(places); }
  static mlir::Operation *readyAt(const Meeting &meeting);
  void settleWay(Meeting &meeting);
  void settleGather(Meeting &meeting);
  bool fits(llvm::ArrayRef<Meeting *> bucket, const Meeting &next) const;
  void meet(llvm::ArrayRef<Meeting *> bucket);
  void sum(llvm::ArrayRef<Meeting *> bucket);
  void scatter(llvm::ArrayRef<Meeting *> bucket);
  void gather(llvm::ArrayRef<Meeting *> bucket);
  mlir::Location nameOf(llvm::StringRef what, const Meeting &first);
  llvm::SmallVector<Value> together(llvm::ArrayRef<Meeting *> bucket,
                                    llvm::function_ref<Value(const Meeting &, Value)> flat);
  llvm::SmallVector<Value> flatTogether(llvm::ArrayRef<Meeting *> bucket);
  Value reduced(llvm::ArrayRef<Value> given, mlir::Location loc);
  Value partsFirst(const Meeting &meeting, Value value, mlir::Location loc);
  Value partsBack(const Meeting &meeting, Value parts, mlir::Location loc);

  // Operations at the builder's place, on the replica's device.
  Value place(Value value);
  Value reshape(Value value, llvm::ArrayRef<int64_t> shape, mlir::Location loc);
  Value slice(Value value, int64_t axis, int64_t begin, int64_t end, mlir::Location loc);
  Value concat(llvm::ArrayRef<Value> values, int64_t axis, mlir::Location loc);

  llvm::ArrayRef<std::string> devices; ///< by replica and place
  int64_t places;
  mlir::OpBuilder &b;
  int64_t at = 0;     ///< the place that the bucket at hand is of
  size_t replica = 0; ///< whose operations are made
  int64_t number = 0; ///< of the next bucket
  std::vector<Meeting> meetings;
  llvm::DenseMap<Value, size_t> gathers; ///< by what the first replica gives
};

} // namespace weir::training

#endif // WEIR_PASSES_TRAINING_REPLICAMEETINGS_H
