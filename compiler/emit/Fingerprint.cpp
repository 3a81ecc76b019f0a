//===- Fingerprint.cpp - a hash of a program ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Fingerprint.h"

#include "dialects/weir/Weir.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace weir;

static llvm::XXH128_hash_t hashOf(llvm::ArrayRef<char> bytes) {
  return llvm::xxh3_128bits({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
}

void weir::fingerprint(const llvm::Module &module, llvm::StringRef flags, Program &program) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  os << flags << '\0';
  llvm::WriteBitcodeToFile(module, os);
  for (const BlobInfo &blob : program.blobs) {
    os << blob.offset << ' ' << blob.bytes << ' ';
    mlir::Attribute value = blob.value;
    // What is made of one constant in two ways is two, and of f16 is not of bf16.
    if (auto filter = mlir::dyn_cast_or_null<WinogradAttr>(value)) {
      os << "winograd " << filter.getType() << filter.getResults() << ' ';
      value = filter.getSource();
    }
    if (auto arranged = mlir::dyn_cast_or_null<ArrangedAttr>(value)) {
      os << arranged.getType() << arranged.getStrides() << arranged.getPanel()
         << arranged.getSource().getType();
      value = arranged.getSource();
    }
    if (auto scaled = mlir::dyn_cast_or_null<ScaledAttr>(value)) {
      os << "scaled " << scaled.getAxis() << ' ';
      llvm::ArrayRef<char> factors = scaled.getFactors().getRawData();
      os.write(factors.data(), factors.size());
      value = scaled.getSource();
    }
    if (auto attribute = mlir::dyn_cast_or_null<weir::BlobAttr>(value)) {
      os << attribute.getHash();
    } else if (auto strings = mlir::dyn_cast_or_null<mlir::DenseStringElementsAttr>(value)) {
      for (llvm::StringRef element : strings.getValues<llvm::StringRef>())
        os << element.size() << ' ' << element;
    } else if (auto dense = mlir::dyn_cast_or_null<mlir::DenseElementsAttr>(value)) {
      llvm::XXH128_hash_t hash = hashOf(dense.getRawData());
      os << llvm::utohexstr(hash.high64) << llvm::utohexstr(hash.low64);
    }
  }
  for (const EntryInfo &entry : program.entries) {
    os << entry.name << '\0';
    for (const auto *list : {&entry.feeds, &entry.fetches})
      for (const TensorInfo &tensor : *list) {
        os << tensor.name << '\0' << tensor.dtype;
        for (int64_t dim : tensor.dims)
          os << ' ' << dim;
      }
  }
  llvm::XXH128_hash_t hash = hashOf(bytes);
  program.hash[0] = hash.high64;
  program.hash[1] = hash.low64;
}
