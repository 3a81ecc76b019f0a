//===- CudaKernel.h - kernels of GPUs --------------------- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A kernel of the plan becomes a gpu.func: a record for errors, then pointers
// to the operands and results, then the sizes that types leave open. Its grid
// has one dimension; a launch computes how many blocks that is from the first
// result's sizes.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_CUDAKERNEL_H
#define WEIR_COMPILER_CODEGEN_CUDA_CUDAKERNEL_H

#include "compiler/codegen/kernel/KernelBuilder.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/MapVector.h"
#include <optional>
#include <string>

namespace weir {

/// How few queries of an attention look at many keys: a block takes a part of the
/// keys, and a second kernel joins the parts. See weir_cuda_parts.
struct LaunchParts {
  std::string part, join;                   ///< names in the image
  int32_t partNumber = -1, joinNumber = -1; ///< among weir_accelerator_desc::kernels
  int64_t threads = 1, joinThreads = 1;
  int64_t rows = 1;            ///< queries of a block
  int64_t mostQueries = 1;     ///< more are not for it
  int64_t state = 1;           ///< numbers that a part leaves of a query
  std::optional<int64_t> keys; ///< else they are size `keysDim` of an operand
  int64_t keysOperand = 0, keysDim = 0;
};

/// How few long lines are cut into parts: see weir_cuda_split.
struct LaunchSplit {
  std::string part, join;                   ///< names in the image
  int32_t partNumber = -1, joinNumber = -1; ///< among weir_accelerator_desc::kernels
  int64_t threads = 1, joinThreads = 1;
  bool across = false;   ///< lines lie side by side: a thread has a part of one
  int64_t state = 8;     ///< bytes that a part leaves of a line
  int64_t axis = -1;     ///< of the first result, along which a scan goes; -1: a line has a result
  int64_t mostParts = 1; ///< of a line
};

/// How lines that are too long for a block, or of open length, are sorted by a sequence of
/// launches: see weir_cuda_sort. The kernel itself is the last of them.
struct LaunchSort {
  std::string run, merge, merges; ///< names in the image
  int32_t runNumber = -1, mergeNumber = -1, mergesNumber = -1;
  int64_t threads = 1, mergeThreads = 1;
  int64_t runElements = 1; ///< a power of two
  int64_t itemBytes = 8;
  int64_t operand = 0, axis = 0; ///< number of the operand; of it and the results
};

/// How a kernel is launched. The number of blocks is the product over the axes
/// of ceil(product of the first result's `dims` / divisor).
struct LaunchShape {
  struct Axis {
    llvm::SmallVector<int64_t> dims;
    int64_t divisor = 1;
  };
  int64_t threads = 256;
  llvm::SmallVector<Axis> axes;
  /// No library does it in less time: none is asked.
  bool beatsLibraries = false;
  /// Nor do one that leaves something to a kernel behind it: that is one launch more.
  bool beatsLibraryAndRest = false;
  /// Kernels that may do the same in parts; not there: none.
  std::optional<LaunchParts> parts;
  std::optional<LaunchSplit> split; ///< the same
  std::optional<LaunchSort> sort;   ///< set: the kernel is no other way
  /// That a block has for a line; set before the kernel is emitted.
  int64_t mostThreads = 512;
};

/// Reads elements in a thread of a GPU.
class CudaReader : public KernelBuilder {
public:
  CudaReader(mlir::OpBuilder &b, mlir::Location loc, SiteTable &sites)
      : KernelBuilder(b, loc, sites) {}

  /// The first error of a step stays in the record that `errorSlot` points to.
  void require(mlir::Operation *op, mlir::Value ok, llvm::StringRef message, int code,
               mlir::Value value0, mlir::Value value1) override;

  mlir::Value threadId(); ///< of type index, below 1024
  mlir::Value blockId();  ///< of type index, below 2^31
  void barrier();
  /// A row-major number along `dims` as indices.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear, mlir::ValueRange dims);
  /// The blocks along each axis, from the first result's sizes.
  llvm::SmallVector<mlir::Value> axisBlocks(const LaunchShape &shape, mlir::ValueRange dims);
  /// Runs `then` where `condition` holds.
  void onlyIf(mlir::Value condition, llvm::function_ref<void()> then);

  // Neighbours that one thread computes are read and written together, before
  // and after all of them: what is between may branch.
  /// What `lanes` elements of a buffer are in memory, from `linear` on.
  llvm::SmallVector<mlir::Value> neighbours(const Buffer &buffer, mlir::Value linear,
                                            int64_t lanes);
  /// From now on `tensor` has the `lanes` elements from `linear` on.
  void readTogether(mlir::Value tensor, mlir::Value linear, int64_t lanes);
  /// Which of the neighbours is computed from now on; -1: none of them.
  void setLane(int64_t number) { lane = number; }
  /// Writes what was stored for all neighbours, from element `linear` on.
  void writeTogether(mlir::Value linear);
  void store(mlir::Value value, const Buffer &buffer, mlir::ValueRange indices) override;

  mlir::gpu::GPUFuncOp function;
  mlir::Value firstResult; ///< of the kernel
  /// A value of the kernel that another one computed: it lies in memory.
  mlir::Value known;
  /// `tensor`, which nothing has read yet, has element `value` wherever it is
  /// read: what the threads of a line have in common. It is sized as the
  /// kernel's first result is, but for the last dimension, which is one.
  void setOfLine(mlir::Value tensor, mlir::Value value) { ofLine[tensor] = value; }
  bool isOfLine(mlir::Value tensor) const { return ofLine.contains(tensor); }
  /// `tensor`, which lies in memory, has what `stored` is there wherever its last index is
  /// `index`: a vector that was read ahead. The thread reads one line of it alone.
  void setAhead(mlir::Value tensor, mlir::Value index, mlir::Value stored) {
    ahead[{tensor, index}] = stored;
  }
  /// Memory that a block's threads share.
  mlir::Value shared(mlir::Type element, llvm::ArrayRef<int64_t> shape);

protected:
  bool isLeaf(mlir::Value tensor) override {
    return (known && tensor == known) || isOfLine(tensor) || KernelBuilder::isLeaf(tensor);
  }
  mlir::Value leafElement(mlir::Value tensor, mlir::ValueRange indices) override;
  mlir::Value leafDim(mlir::Value tensor, unsigned i) override;

private:
  int64_t lane = -1;
  llvm::DenseMap<mlir::Value, mlir::Value> ofLine;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, mlir::Value> ahead;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> together;
  /// By pointer: the buffer, and its elements as they lie in memory.
  llvm::MapVector<mlir::Value, std::pair<Buffer, llvm::SmallVector<mlir::Value>>> stored;
};

/// What the emitters of strategies share.
struct CudaKernel {
  CudaReader &reader;
  mutable plan::KernelOp kernel; ///< MLIR's handles know no const
  LaunchShape &shape;
  /// What is read from memory, and what is computed from that, in order.
  llvm::SmallVector<mlir::Value> leaves;
  llvm::SmallVector<mlir::Operation *> operations;

  mlir::Block &body() const { return kernel.getBody().front(); }
  mlir::ValueRange results() const { return body().getTerminator()->getOperands(); }
  KernelBuilder::Buffer first() const { return reader.bufferOf(results().front()); }
  /// Computes and stores all results at `indices`. `anchor`, when given, is
  /// known to have `value` there.
  void emitResults(mlir::ValueRange indices, mlir::Operation *anchor = nullptr,
                   mlir::Value value = {}) const;
};

/// The sizes of a buffer along `dims`.
llvm::SmallVector<mlir::Value> sizesAlong(const KernelBuilder::Buffer &buffer,
                                          llvm::ArrayRef<int64_t> dims);
/// Sets the indices along `dims`, as many as there are values.
void setIndices(llvm::MutableArrayRef<mlir::Value> indices, llvm::ArrayRef<int64_t> dims,
                mlir::ValueRange values);

// Each returns false where the kernel is not of its kind; nothing is emitted
// then.
bool emitRowReductions(const CudaKernel &k); ///< reductions along lines
bool emitRowReduction(const CudaKernel &k);  ///< several, and what is between
bool emitGemm(const CudaKernel &k);          ///< products and convolutions
bool emitAttention(const CudaKernel &k);     ///< two products around a softmax
bool emitTranspose(const CudaKernel &k);     ///< by way of shared memory
bool emitScatter(const CudaKernel &k);       ///< scatters, each element by one thread
void emitElements(const CudaKernel &k);      ///< everything

/// As many neighbours as 16 bytes hold of the widest type that lies in memory.
int64_t vectorLanes(const CudaKernel &k);
/// Elements that a thread computes next to each other: vectorLanes, where all that is read lies as
/// the result does, or the same for all of a line. `flat`: a number is place enough. `anchor` is
/// known by other means.
int64_t lanesOf(const CudaKernel &k, bool flat, mlir::Operation *anchor = nullptr);
/// Where the elements of `leaf` begin in its buffer that elementwise operations over `over`
/// read for neighbours along its last dimension, the first of which is at `at`; null: they
/// do not lie next to each other.
mlir::Value neighboursIn(CudaReader &r, mlir::Value leaf, mlir::RankedTensorType over,
                         llvm::ArrayRef<mlir::Value> at);
/// Computes and stores `lanes` neighbours, the first at `at`, of which `anchor` has
/// `value(lane)`. Operands that lie alike are read in vectors, results written so.
void emitNeighbours(const CudaKernel &k, llvm::ArrayRef<mlir::Value> at, int64_t lanes,
                    mlir::Operation *anchor, llvm::function_ref<mlir::Value(int64_t lane)> value);

inline constexpr int64_t warpThreads = 32;

/// The value, of up to 64 bits, that lane ^ distance has; UP: that the lane `distance` before has,
/// or the own one; IDX: that lane `distance` has. All lanes come here.
mlir::Value shuffle(CudaReader &r, mlir::Value value, int64_t distance,
                    mlir::gpu::ShuffleMode mode = mlir::gpu::ShuffleMode::XOR);

// Tensor cores. A warp multiplies 16 rows by 8 columns over a depth of 16 (mma.m16n8k16), of
// bytes 32 (mma.m16n8k32); which lane has which elements is what PTX says.
inline constexpr int64_t tensorCoreRows = 16, tensorCoreColumns = 8;

/// Numbers that fill a word, the first one in its lowest bits.
mlir::Value packWord(CudaReader &r, llvm::ArrayRef<mlir::Value> numbers);
/// sums += left right: four words by two, to four sums. Of f16, bf16 and 8-bit floats these are in
/// f32; of integers of 8 bits, in i32. Of bytes left and right may differ in type.
void multiplyOnTensorCores(CudaReader &r, mlir::Type leftType, mlir::Type rightType,
                           llvm::ArrayRef<mlir::Value> left, llvm::ArrayRef<mlir::Value> right,
                           llvm::MutableArrayRef<mlir::Value> sums);

/// The line that a thread works on with others.
struct ThreadLine {
  mlir::Value lane;   ///< of the thread among them
  mlir::Value exists; ///< false beyond the end, see placeLines
  llvm::SmallVector<mlir::Value> indices;
};

/// Shapes the launch, and gives each thread its line: one for each index along the first
/// result's first `rank` dimensions, `threads` a line, which are a warp or a whole block.
/// Warps beyond the end get the last line, and are to store nothing: shuffles want all
/// lanes.
ThreadLine placeLines(const CudaKernel &k, int64_t threads, int64_t rank);

/// Numbers that the threads of a block share; a bit has a byte.
class SharedNumbers {
public:
  SharedNumbers(CudaReader &r, mlir::Type type, int64_t count);
  void store(mlir::Value place, mlir::Value number) const;
  mlir::Value load(mlir::Value place) const;

private:
  CudaReader *r;
  mlir::Type type;
  mlir::Value memory;
};

/// What is known of a part of a line: a number, or several that belong together.
using LineState = llvm::SmallVector<mlir::Value, 2>;

/// What the threads of a line have found, combined, in each of them: a warp's by
/// shuffles, with `byBlock` those of all warps of the block by way of shared memory.
/// All threads of the block come here. `combine` makes one state of two, in either order.
LineState combineLine(
    const CudaKernel &k, LineState state,
    llvm::function_ref<LineState(llvm::ArrayRef<mlir::Value>, llvm::ArrayRef<mlir::Value>)> combine,
    bool byBlock);
/// The same of a reduction's value.
mlir::Value combineLine(const CudaKernel &k, ScalarBuilder &s, ReduceKind kind, mlir::Value value,
                        bool byBlock);

/// Another form of a kernel, with parameters behind the sizes.
struct KernelForm {
  llvm::SmallVector<mlir::Type> parameters;
  llvm::function_ref<void(const CudaKernel &, mlir::ValueRange parameters)> emit;
};

/// Emits `kernel` into `module` under the name `symbol`. With `known`, a value
/// in it, the function takes that as one more operand, after the sizes, and
/// computes what follows; it may lie where the first result does. With `form` that emits
/// the body. `mostThreads`: LaunchShape::mostThreads.
LaunchShape emitCudaKernel(plan::KernelOp kernel, llvm::StringRef symbol,
                           mlir::gpu::GPUModuleOp module, SiteTable &sites, mlir::Value known = {},
                           const KernelForm *form = nullptr, int64_t mostThreads = 512);

/// The same kernel over words of eight bytes, where all it does is to move elements, as
/// many of which as a word has stay together; null: it does something else. `elements`:
/// of a word. What a launch of it counts, its shape's axes, are words.
mlir::OwningOpRef<plan::KernelOp> asWords(plan::KernelOp kernel, int64_t &elements);

/// The operand that the kernel's result begins with, element by element, which it reads for nothing
/// else: that of a concatenation along its first dimension but for such of one element. Where the
/// result lies over it the kernel leaves it as it is. Null: none.
mlir::BlockArgument grownOperand(plan::KernelOp kernel);

/// Emits the kernels that compute `kernel`, launched as `shape` otherwise, in parts, if
/// it is an attention of few queries and many keys, or may turn out to be one, whose
/// operands lie in memory as lines of a head. Else shape.parts stays as it is.
void emitAttentionParts(plan::KernelOp kernel, llvm::StringRef symbol,
                        mlir::gpu::GPUModuleOp module, SiteTable &sites, LaunchShape &shape);

/// Adds to an image that is complete the kernel for weir_cuda_record::assign, if a
/// step assigns variables and a kernel of it may fail. Returns its name, or "".
std::string emitAssignKernel(mlir::gpu::GPUModuleOp module,
                             mlir::ArrayRef<mlir::func::FuncOp> steps);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_CUDAKERNEL_H
