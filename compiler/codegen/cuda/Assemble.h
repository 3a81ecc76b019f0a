//===- Assemble.h - from LLVM IR to an image for GPUs ----- -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_CUDA_ASSEMBLE_H
#define WEIR_COMPILER_CODEGEN_CUDA_ASSEMBLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace weir {

/// A function that multiplies 8-bit floats by tensor cores, as mma.m16n8k32 does: words of the left
/// operand (4), of the right one (2), and sums in f32 (4). toPtx gives it a body: from sm_89 on it
/// is that instruction, before two products of f16, which has all values of both types (`e4m3`,
/// `e5m2`).
inline std::string narrowProduct(llvm::StringRef left, llvm::StringRef right) {
  return ("weir_multiply_" + left + "_" + right).str();
}

/// A GPU architecture that code is made for.
struct CudaArchitecture {
  int number = 0; ///< 90 of sm_90
  /// With instructions that no later architecture has: sm_90a.
  bool isSpecific = false;
  std::string suffix() const { return std::to_string(number) + (isSpecific ? "a" : ""); }
  std::string name() const { return "sm_" + suffix(); }
};

/// Reads "sm_80,sm_90a": ascending, none twice, sm_90a instead of sm_90 where there are both.
/// Nothing where one is unknown.
std::optional<std::vector<CudaArchitecture>> parseArchitectures(llvm::StringRef text);
/// What parseArchitectures knows, for messages.
std::string knownArchitectures();

/// A program of the CUDA toolkit: in $CUDA_HOME or $CUDA_PATH, on the path, or
/// where the toolkit is installed by default. Empty: not found.
std::string findToolkitProgram(llvm::StringRef name);
/// The toolkit's library of functions for GPU code, LLVM bitcode. Empty: not
/// found.
std::string findLibdevice();

/// Sets the module up for NVIDIA GPUs (triple, data layout).
llvm::Error targetCuda(llvm::Module &module);
/// Links what the module calls of libdevice, internal. An error where the
/// library is needed and missing.
llvm::Error linkLibdevice(llvm::Module &module);
/// Optimises a copy of the module for one architecture and writes it as PTX, without the
/// functions of `specific` where the architecture is not.
llvm::Expected<std::string> toPtx(const llvm::Module &module, const CudaArchitecture &architecture,
                                  int optLevel, llvm::ArrayRef<std::string> specific);
/// One image with machine code for every architecture, the PTX of the last and of the first, and
/// of the last that later GPUs take.
/// `report` gets what the assembler says of registers and local memory, `cubins`, unless null, the
/// machine code of each architecture: an ELF file each.
llvm::Expected<std::string> assemble(const std::vector<CudaArchitecture> &architectures,
                                     const std::vector<std::string> &ptx, std::string &report,
                                     std::vector<std::string> *cubins = nullptr);

/// The machine code of an image as text, by cuobjdump; "" where that is missing.
std::string disassemble(llvm::StringRef image);
/// The same of one architecture's, by cuobjdump or nvdisasm.
std::string disassembleCubin(llvm::StringRef cubin);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_CUDA_ASSEMBLE_H
