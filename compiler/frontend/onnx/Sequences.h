//===- Sequences.h - sequences that programs compute ------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ONNX_SEQUENCES_H
#define WEIR_COMPILER_FRONTEND_ONNX_SEQUENCES_H

#include "compiler/frontend/Loops.h"
#include "compiler/frontend/onnx/NodeImport.h"

namespace weir::onnx {

using frontend::buildIf;
using frontend::buildLoop;
using frontend::joinTypes;
using frontend::makeEntries;
using frontend::relax;
using frontend::Values;
using frontend::writeEntry;

/// What is known of the elements of a sequence or optional. Elements may differ
/// in sizes, and in rank; their element type is one.
struct ElementInfo {
  Imported::Kind kind = Imported::Kind::Tensor;
  Type element;                             ///< of tensors
  bool ranked = false;                      ///< tensors all have the rank of `shape`
  llvm::SmallVector<int64_t> shape;         ///< open where sizes differ
  std::shared_ptr<const ElementInfo> inner; ///< of sequences and optionals
};
using Info = std::shared_ptr<const ElementInfo>;

/// What is known of values of a declared type; null where it has none.
Info infoOf(mlir::MLIRContext *context, const TypeInfo &declared);
/// The same of a value; of a list, joined over its elements.
Info infoOf(const Imported &value);
/// What holds of both; null only where either is, or their kinds differ.
Info joinInfo(const Info &x, const Info &y);
bool sameInfo(const Info &x, const Info &y);

/// A sequence or optional as tensor<?x!weir.box>; lists are built for it. Null
/// where a part is.
Value toBoxes(TensorBuilder &t, const Imported &value);
/// The same as an Imported, with what is known of its elements.
Imported boxed(TensorBuilder &t, const Imported &value);

/// Element `position` (an integer of one element) of a computed sequence or
/// optional; kind None, with a report, where its rank is not known.
Imported elementAt(NodeImport &n, const Imported &sequence, Value position);

/// `boxes` with one more element, at its end or at `position`.
Value insertBox(TensorBuilder &t, Value boxes, const Imported &element, Value position = {});

/// The elements put together along `axis`, a new one where `fresh`. Null, with
/// a report, where their rank is not known.
Value concatBoxes(NodeImport &n, Value boxes, const Info &info, int64_t axis, bool fresh,
                  bool mayBeEmpty);

/// A kernel of the runtime that is called by name.
mlir::Operation *callKernel(TensorBuilder &t, llvm::StringRef kernel, mlir::TypeRange results,
                            mlir::ValueRange operands, Ints parameters);

/// tensor<?x!weir.box>
mlir::RankedTensorType boxesType(mlir::MLIRContext *context);

/// A feed of a declared sequence or optional type: checks its elements once.
Imported checkedFeed(TensorBuilder &t, Value boxes, const TypeInfo &declared);

/// The tensors inside a value, in order; a computed sequence is one.
void flatten(const Imported &value, Values &out);
/// A value built like `shape`, of tensors taken from `tensors`.
Imported rebuild(const Imported &shape, llvm::ArrayRef<Value> &tensors);
bool sameStructure(const Imported &x, const Imported &y);
/// Makes what `x` knows of computed sequences hold of `y`, too, which has the
/// same structure. False where that leaves less known than before.
bool widenTo(Imported &x, const Imported &y);

} // namespace weir::onnx

#endif // WEIR_COMPILER_FRONTEND_ONNX_SEQUENCES_H
