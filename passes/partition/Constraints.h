//===- Constraints.h - which nodes go together, and where they may *- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes of the model are united to groups by union-find; a group carries the
// intersection of the device names that its nodes ask for. All operations that
// one node became are in one group.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_PARTITION_CONSTRAINTS_H
#define WEIR_PASSES_PARTITION_CONSTRAINTS_H

#include "passes/analysis/DeviceKind.h"
#include "passes/analysis/DeviceSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace weir {

/// Whether an operation is placed: not data, not a border of regions, not what
/// every device that takes part has for itself.
bool isPlaced(mlir::Operation *op);
/// weir.if and weir.while.
bool isControl(mlir::Operation *op);
/// Whether every device may have its own of it: constants, variables' handles, what
/// sessions can.
bool isFree(mlir::Operation *op);

class Constraints {
public:
  /// `soft`: devices that are asked for and not there give way to others.
  Constraints(mlir::ModuleOp module, bool soft) : module(module), soft(soft) {}

  /// Reads requests, colocations and locks. Failure: said why.
  mlir::LogicalResult gather();
  const DeviceSet &cluster() const { return devices; }

  /// The group of a placed operation. Stable until the next `tryUnite`.
  int32_t groupOf(mlir::Operation *op) const { return find(elementOf.at(op)); }
  /// Devices that a group may be on, never empty after `gather`.
  llvm::ArrayRef<int32_t> candidates(int32_t group) const {
    return elements[find(group)].candidates;
  }
  /// Makes one group of two where some device suits both.
  void tryUnite(mlir::Operation *a, mlir::Operation *b);

  /// For messages: the group's nodes with what they ask for, and why they are
  /// together.
  std::vector<std::string> describe(int32_t group) const;
  llvm::StringRef nameOf(int32_t element) const { return elements[element].name; }

private:
  struct Element {
    std::string name; ///< of a node
    mutable int32_t parent;
    DeviceName asked;        ///< of the group, at its root
    std::string request;     ///< as the node has it
    std::string requestFrom; ///< "the model", "the placement file"
    bool locked = false;     ///< by the placement file: nothing makes it give way
    bool yields = false;     ///< its request gives way to its group's
    /// By kind of device, as `kinds`: why none computes it; empty: one can.
    llvm::SmallVector<std::string, 1> refusals;
    std::vector<int32_t> candidates;
    std::vector<int32_t> members;
    std::vector<std::string> reasons;
  };

  int32_t find(int32_t element) const;
  int32_t element(llvm::StringRef name);
  void unite(int32_t a, int32_t b, std::string reason);
  mlir::LogicalResult gatherRequests();
  void gatherOperations();
  void gatherColocations();
  void gatherResources();
  void gatherControl();
  mlir::LogicalResult intersect();
  mlir::LogicalResult findCandidates();
  void gatherAbilities();
  /// Whether one of the group's nodes cannot be on a device of that kind.
  bool isRefused(const Element &root, const DeviceKind *kind) const;
  mlir::Location locationOf(int32_t element) const;
  mlir::InFlightDiagnostic fail(int32_t element, const llvm::Twine &message);

  mutable mlir::ModuleOp module; ///< MLIR's handles know no const
  DeviceSet devices;
  llvm::SmallVector<const DeviceKind *> kinds; ///< of the devices beside CPUs
  bool soft = false;
  llvm::StringMap<int32_t> known;
  std::vector<Element> elements;
  llvm::DenseMap<mlir::Operation *, int32_t> elementOf;
  llvm::DenseMap<int32_t, mlir::Location> locations;
};

} // namespace weir

#endif // WEIR_PASSES_PARTITION_CONSTRAINTS_H
