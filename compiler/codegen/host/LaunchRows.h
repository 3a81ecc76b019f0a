//===- LaunchRows.h - launches as rows of a table ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_HOST_LAUNCHROWS_H
#define WEIR_COMPILER_CODEGEN_HOST_LAUNCHROWS_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Constant;
class Module;
} // namespace llvm

namespace weir {

/// Launches of all steps of a module: those whose range, sizes and places are known while
/// compiling, and those of open sizes, whose values the step puts into numbered slots. A step hands
/// rows of it to one function that makes the launches: code for each would be the most of what LLVM
/// reads of a large graph, in one function, and take it time that grows with more than the graph.
class LaunchRows {
public:
  /// Names are those of the model's other symbols: `prefix_launches`, ….
  explicit LaunchRows(std::string prefix) : prefix(std::move(prefix)) {}

  /// Whether `offset` behind number `base` of a step's addresses fits into a word.
  static bool fits(size_t base, int64_t offset);
  static uint64_t word(size_t base, int64_t offset);

  /// Adds a launch of the program's kernel number `kernel`, called `symbol`, over
  /// [0, range), with its buffers as words. Returns the row's number.
  size_t add(size_t kernel, const std::string &symbol, int64_t range, int64_t grain,
             llvm::ArrayRef<uint64_t> buffers);
  /// Numbers of the next row and of its first buffer.
  size_t nextRow() const { return rows.size(); }
  size_t nextBuffer() const { return buffers.size(); }

  /// i32 (context, addresses, first row, last row + 1, first row's first buffer):
  /// makes these launches one after the other, up to the first that fails, and
  /// returns its code or 0.
  std::string function() const { return prefix + "_launches"; }

  /// The same of open sizes, between which memory is asked for and given back. Slots are
  /// words that hold a size or an address. `buffers` are words as above, of slots; `sizes`
  /// are slots, in the order in which the kernel gets them.
  void addOpen(size_t kernel, const std::string &symbol, size_t rangeSlot, size_t grainSlot,
               llvm::ArrayRef<uint64_t> buffers, llvm::ArrayRef<size_t> sizes);
  /// Memory of as many bytes as a slot says, its address into another one; `site` is told
  /// where there is none.
  void addAllocation(size_t addressSlot, size_t bytesSlot, size_t site);
  void addFree(size_t addressSlot);
  /// Number of the next open row's first word.
  size_t nextWord() const { return words.size(); }

  /// i32 (context, slots, first row's first word, last one's end): the same for open rows.
  std::string openFunction() const { return prefix + "_open_launches"; }

  /// Gives these functions, as far as `module` declares them, their bodies and tables.
  void fill(llvm::Module &module) const;

private:
  void note(size_t kernel, const std::string &symbol);
  llvm::Constant *kernelTable(llvm::Module &module) const;
  void fillKnown(llvm::Module &module, llvm::Constant *kernelsByNumber) const;
  void fillOpen(llvm::Module &module, llvm::Constant *kernelsByNumber) const;

  struct Row {
    int64_t range, grain;
    int32_t kernel, count;
  };
  std::string prefix;
  std::vector<Row> rows;
  std::vector<uint64_t> buffers;
  std::vector<uint64_t> words;      ///< of open rows
  std::vector<std::string> kernels; ///< symbols by number, empty: in no row
  int64_t mostBuffers = 1, mostOpenBuffers = 1, mostSizes = 1;
};

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_HOST_LAUNCHROWS_H
