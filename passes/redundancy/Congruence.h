//===- Congruence.h - which values of a function are equal -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Value numbering in the sense of Click, "Global Code Motion, Global Value
// Numbering", PLDI 1995, and of Alpern, Wegman and Zadeck, POPL 1988: values are
// presumed equal until shown otherwise, with folding and algebra in the same
// fixed point. Control flow is structured here, so it is enough to keep the
// partition of each loop's carried values: all others follow from it by hashing
// terms. The presumption is
//   first    no carried value changes, and a loop that begins like an earlier
//            one, and does the same work, is the same;
//   refined  where an iteration shows that values part, they are put apart, and
//            the loop is numbered anew;
//   final    when an iteration shows nothing new, the partition is its own proof.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PASSES_REDUNDANCY_CONGRUENCE_H
#define WEIR_PASSES_REDUNDANCY_CONGRUENCE_H

#include "dialects/weir/Weir.h"
#include "passes/redundancy/ValueTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace weir::redundancy {

class Congruence {
public:
  explicit Congruence(mlir::func::FuncOp function);

  /// The class of a value inside of the function; 0 for one that is not.
  Class classOf(mlir::Value value) const { return classes.lookup(value); }
  /// What its members are known to be, or null.
  mlir::TypedAttr constantOf(Class c) const { return table.constantOf(c); }

private:
  /// Which carried values of a loop are presumed equal.
  struct Loop {
    static constexpr int invariant = -1;
    /// For each carried value the first of its group, or `invariant`: it is what
    /// it was before the loop.
    llvm::SmallVector<int> groups;
    /// With how many loops that begin like it it has been compared in vain.
    uint64_t compared = 0;
    unsigned rounds = 0;
  };
  /// Variables that a region may write.
  struct Writes {
    bool any = false; ///< whichever
    llvm::SetVector<mlir::Value> resources;
  };
  /// The number of the last write to each variable.
  struct Memory {
    llvm::DenseMap<mlir::Attribute, unsigned> writes;
    unsigned all = 0;
  };

  void visitBlock(mlir::Block &block);
  void visit(mlir::Operation *op);
  void visitIf(IfOp op);
  void visitWhile(WhileOp op);
  void visitRead(VariableReadOp op);
  void setFresh(mlir::Value value) { classes[value] = table.fresh(value.getType()); }
  llvm::SmallVector<Class> classesOf(mlir::ValueRange values) const;

  /// What equal loops have in common before their bodies are compared. Of those
  /// that differ inside, each has a number.
  Term loopTerm(WhileOp op, uint64_t number);
  void bindArguments(WhileOp op, const Loop &loop, Class identity,
                     mlir::Block::BlockArgListType arguments);
  /// Puts apart what the iteration showed to differ; whether there was such.
  bool refine(WhileOp op, Loop &loop);

  Writes writesOf(mlir::Operation *op);
  void recordWrites(const Writes &writes);
  /// The name of the variable that a resource is, null when it is not known.
  mlir::Attribute variableOf(mlir::Value resource);

  ValueTable table;
  llvm::DenseMap<mlir::Value, Class> classes;
  llvm::DenseMap<mlir::Operation *, Loop> loops;
  llvm::DenseMap<Class, WhileOp> firstLoops;
  llvm::SmallVector<Class> active; ///< identities of the loops around
  llvm::DenseMap<mlir::Operation *, Writes> knownWrites;
  Memory memory;
  unsigned lastWrite = 0;
};

} // namespace weir::redundancy

#endif // WEIR_PASSES_REDUNDANCY_CONGRUENCE_H
