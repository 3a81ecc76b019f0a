//===- KernelBuilder.h - elements inside of a kernel --------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_KERNEL_KERNELBUILDER_H
#define WEIR_COMPILER_CODEGEN_KERNEL_KERNELBUILDER_H

#include "compiler/emit/Program.h"
#include "dialects/plan/Plan.h"
#include "dialects/weir/RecursiveReader.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace weir {

/// Numbers the places of a program that can fail at run time.
class SiteTable {
public:
  explicit SiteTable(std::vector<SiteInfo> &sites) : sites(sites) {}
  int add(llvm::StringRef node, llvm::StringRef operation, llvm::StringRef message, int code);

private:
  std::vector<SiteInfo> &sites;
};

/// Reads and writes buffers, given as pointers, element by element.
class BufferAccess {
public:
  /// The type that an element has in memory.
  static mlir::Type storageType(mlir::Type element);
  static mlir::Value address(ElementReader &r, mlir::Value pointer, mlir::Type element,
                             mlir::Value linear);
  /// In compute form.
  static mlir::Value load(ElementReader &r, mlir::Value pointer, mlir::Type element,
                          mlir::Value linear);
  static void store(ElementReader &r, mlir::Value value, mlir::Value pointer, mlir::Type element,
                    mlir::Value linear);
  /// Between what lies in memory and compute form; complex numbers have no one
  /// value in memory.
  static mlir::Value fromStorage(ElementReader &r, mlir::Value value, mlir::Type element);
  static mlir::Value toStorage(ElementReader &r, mlir::Value value, mlir::Type element);
};

/// What a kernel's emitter works with: its operands as pointers and sizes.
class KernelBuilder : public RecursiveReader {
public:
  KernelBuilder(mlir::OpBuilder &b, mlir::Location loc, SiteTable &sites)
      : RecursiveReader(b, loc), sites(sites) {}

  struct Buffer {
    mlir::Value pointer;
    llvm::SmallVector<mlir::Value> dims; ///< of type index
    mlir::RankedTensorType type;
    /// The sizes of the buffer that this one is a part of; none: it is a whole.
    llvm::ArrayRef<int64_t> extents;

    /// How many elements of dimension `i` memory has room for.
    mlir::Value extent(ElementReader &r, unsigned i) const;
    /// See plan::hasInnerGaps.
    bool hasGaps() const;
  };

  void bind(mlir::Value tensor, Buffer buffer) {
    buffers[tensor] = buffer;
    forgetAll();
  }
  /// `buffer` is a part of one of the sizes `extents`, behind which the indices may stand at which
  /// it begins (a kernel's `extents`).
  void setPart(Buffer &buffer, llvm::ArrayRef<int64_t> extents);
  const Buffer &bufferOf(mlir::Value tensor) { return buffers[tensor]; }
  mlir::Value linearIndex(const Buffer &buffer, mlir::ValueRange indices);
  virtual void store(mlir::Value value, const Buffer &buffer, mlir::ValueRange indices);
  using Places = llvm::SmallDenseMap<mlir::Value, mlir::Value>;
  /// Writes at one linear index, where all leaves are read, too, for kernels over equal
  /// shapes; but those of `places`, which are read where that says.
  void setFlatIndex(mlir::Value index, Places places) {
    flat = index;
    flatPlaces = std::move(places);
    forgetElements();
  }
  void setFlatIndex(mlir::Value index) { setFlatIndex(index, Places()); }
  /// `tensor`, the result of the kernel's costly operation, has element `value`
  /// wherever it is read from now on: several readers share one computation.
  void setAnchor(mlir::Value tensor, mlir::Value value) {
    anchor = tensor;
    anchorElement = value;
    forgetElements();
  }

  mlir::Value element(mlir::Value tensor, mlir::ValueRange indices) override {
    return tensor == anchor ? anchorElement : RecursiveReader::element(tensor, indices);
  }

  /// From here on, dimension `i` of `tensor` is not taken for one that broadcasts:
  /// where it is 1, so is the result's. Known where the insertion point is.
  void assumeNotStretched(mlir::Value tensor, unsigned i);

  /// Cuts the number of a part of the kernel's range into indices along `dims`:
  /// parts count blocks of `blocks` elements (none given: single elements),
  /// row-major.
  llvm::SmallVector<mlir::Value> blockIndices(mlir::Value part, mlir::ValueRange dims,
                                              llvm::ArrayRef<int64_t> blocks = {});

  void require(mlir::Operation *op, mlir::Value ok, llvm::StringRef message, int code,
               mlir::Value value0, mlir::Value value1) override;
  mlir::Value dim(mlir::Value tensor, unsigned i) override;
  /// Computes open sizes of what the operations of `body` read where the insertion point is, so
  /// that no loop behind it does. Without checks: the step has made them.
  void askSizes(mlir::Block &body);

  SiteTable &errorSites() { return sites; }

  mlir::Value context;   ///< weir_context *
  mlir::Value errorSlot; ///< i32 *, what the kernel will return
  /// Sizes are asked for that the step has checked: no checks.
  bool quiet = false;

protected:
  bool isLeaf(mlir::Value tensor) override;
  mlir::Value leafElement(mlir::Value tensor, mlir::ValueRange indices) override;
  mlir::Value leafDim(mlir::Value tensor, unsigned i) override;
  mlir::Value constantElement(mlir::Value tensor, mlir::ElementsAttr value,
                              mlir::ValueRange indices) override;

  SiteTable &sites;

private:
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  mlir::Value flat, anchor, anchorElement;
  Places flatPlaces;
};

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_KERNEL_KERNELBUILDER_H
