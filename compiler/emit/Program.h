//===- Program.h - what an object describes ---------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler's side of weir_program_desc: code generation fills it, emission
// turns it into read-only data of the object, the header and the report.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_EMIT_PROGRAM_H
#define WEIR_COMPILER_EMIT_PROGRAM_H

#include "weir/abi.h"

#include "mlir/IR/Attributes.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace weir {

struct TensorInfo {
  std::string name;
  int dtype = 0; ///< weir_dtype
  bool ranked = true;
  std::vector<int64_t> dims;  ///< -1: not fixed
  std::vector<int64_t> lower; ///< as dims; empty: no bounds
  std::vector<int64_t> upper;
  std::vector<std::string> symbols; ///< "" or a symbol's name; empty: none
};

struct EntryInfo {
  std::string name;
  std::vector<TensorInfo> feeds, fetches;
  std::vector<std::string> steps; ///< one a device: function symbol or ""
  std::vector<int64_t> arenas;    ///< one a device: bytes that the step uses
  /// Of each fetch one more than the feed that it may lie over, 0: none. Empty: no fetch may.
  std::vector<int64_t> overFeed;
};

struct DeviceInfo {
  std::string name;
  int64_t arenaBytes = 0;
  int64_t arenaAlign = 64;
  int64_t lowerBound = 0; ///< most bytes live at once
};

struct SlotInfo {
  std::string name, container, sharedName;
  int kind = 0, dtype = 0;
  bool ranked = true;
  bool isCopy = false; ///< WEIR_SLOT_COPY
  int shardAxis = -1;  ///< WEIR_SLOT_PART along it; -1: all of a value
  int device = 0;      ///< whose step uses it, by number
  std::vector<int64_t> dims;
  int64_t initial = -1;      ///< index into Program::blobs
  bool startsAtZero = false; ///< WEIR_INITIAL_ZEROS
};

/// What devices compute together (weir_collective_desc).
struct CollectiveInfo {
  std::string node, entry;
  int kind = 0, reduction = 0;
  struct Rank {
    int device, input, output, ring, up, down;
  };
  std::vector<Rank> ranks;
};

struct SiteInfo {
  std::string node, operation, message;
  int code = 0;
};

struct KernelInfo {
  std::string name, nodes;
  int64_t flops = -1, bytes = -1;
  std::string symbol = {}; ///< of its function in the module
  int64_t launches = 1;    ///< places in the steps that launch it
  /// What a launch makes: its buffers are so many operands, and then these.
  struct Result {
    std::string node; ///< whose value it is
    int dtype = 0;
    int64_t elementBytes = 0;
    std::vector<int64_t> dims; ///< -1: open
    std::vector<int> sizes;    ///< of an open one its place in the launch's sizes, else -1
  };
  int operands = 0;
  std::vector<Result> results = {};
};

struct EdgeInfo {
  std::string name;
  int source = 0, destination = 0;
};

/// A custom operation that the program calls through weir_rt_custom.
struct CustomInfo {
  std::string name, nodes;
  std::string fallback; ///< symbol of a function that is linked in, or ""
};

/// Bytes of the object's constants. `value` is a BlobAttr (bytes of a mapped
/// file), a DenseElementsAttr, a ScaledAttr, an ArrangedAttr over one of these, or a WinogradAttr
/// over any.
struct BlobInfo {
  mlir::Attribute value;
  int64_t offset = 0; ///< from the base, 64-byte aligned
  int64_t bytes = 0;
};

/// For the report: a buffer of the plan.
struct BufferInfo {
  std::string node;
  int device = 0;
  int64_t bytes = 0, offset = 0, firstUse = 0, lastUse = 0;
  int step = 0; ///< number of the step function; those of a device share its arena
};

/// Code of a device that is no CPU: what the object has for it beside the
/// host's steps, which do the same where the device is missing.
struct AcceleratorInfo {
  int device = 0;
  std::string driver;               ///< symbol of the runtime's table of functions
  std::string image;                ///< bytes that the driver loads
  std::vector<std::string> steps;   ///< by entry: symbols, or ""
  std::vector<std::string> kernels; ///< names in the image, or "", by kernel
  /// Constants that the device has a copy of, and where.
  struct Segment {
    int64_t source, bytes, target;
  };
  std::vector<Segment> segments;
  int64_t segmentBytes = 0;
  /// A structure of the driver's own, which emission knows nothing more of: numbers, and
  /// behind them pointers to names (empty: null), and to arrays of names and of other
  /// records of one layout, with their lengths.
  struct Record {
    std::vector<uint64_t> words;
    std::vector<std::variant<std::string, std::vector<std::string>, std::vector<Record>>> pointers;
  };
  /// weir_accelerator_desc::record, which begins with its size and version; without
  /// words: none.
  Record record;
  /// Feeds and fetches that only this device takes or makes.
  struct Direct {
    std::string entry;
    int index, edge;
    bool isFetch;
  };
  std::vector<Direct> direct;
  std::vector<int> slots; ///< variables whose values lie in the device's memory
};

struct Program {
  std::string name; ///< C identifier: prefix of the object's symbols
  std::vector<DeviceInfo> devices;
  std::vector<EntryInfo> entries;
  std::vector<SlotInfo> slots;
  std::vector<SiteInfo> sites;
  std::vector<KernelInfo> kernels;
  std::vector<EdgeInfo> edges;
  std::vector<CustomInfo> customs;
  std::vector<BlobInfo> blobs;
  std::vector<BufferInfo> buffers;
  std::vector<AcceleratorInfo> accelerators;
  int64_t blobBytes = 0;
  uint64_t requiredCpuFeatures = 0;
  int defaultThreads = 0;
  uint64_t hash[2] = {0, 0};
  std::vector<CollectiveInfo> collectives;
  int frozenVariables = 0; ///< of the model, which are constants
  int stateDevice = -1; ///< where variables are that are no copies; -1: not said
};

/// The weir_dtype of an element type, 0 when it has none.
int dtypeOf(mlir::Type elementType);
/// Bytes of one element in a buffer (sub-byte types take one byte), 0 for a
/// type that has no weir_dtype.
int64_t elementBytes(mlir::Type elementType);
/// The same for a weir_dtype.
int64_t dtypeBytes(int dtype);
/// "f32", "i64", …; "?" for an unknown one.
llvm::StringRef dtypeName(int dtype);

} // namespace weir

#endif // WEIR_COMPILER_EMIT_PROGRAM_H
