//===- Frontend.cpp - a format of models, to the compiler -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/Frontend.h"
#include "compiler/frontend/FrontendFlags.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <mutex>

using namespace weir;
using llvm::StringRef;

namespace {

struct Registry {
  std::mutex mutex;
  llvm::SmallVector<const Frontend *> all;
};

Registry &registry() {
  static Registry made;
  return made;
}

bool hasSuffix(const Frontend &frontend, StringRef suffix) {
  return llvm::is_contained(frontend.suffixes(), suffix);
}

const Frontend *ofFolder(StringRef path, llvm::ArrayRef<const Frontend *> all) {
  const Frontend *first = nullptr;
  for (const Frontend *frontend : all) {
    if (frontend->folder().empty())
      continue;
    if (frontend->ownsFolder(path))
      return frontend;
    if (!first)
      first = frontend;
  }
  return first;
}

} // namespace

Frontend::~Frontend() = default;

bool weir::registerFrontend(const Frontend &frontend) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  for (const Frontend *other : registry().all)
    if (other->name() == frontend.name() ||
        llvm::any_of(frontend.suffixes(),
                     [&](StringRef suffix) { return hasSuffix(*other, suffix); }))
      return false;
  registry().all.push_back(&frontend);
  registerFrontendFlag(frontend.flags());
  return true;
}

std::string weir::possibleFiles(llvm::ArrayRef<const Frontend *> all) {
  std::string text;
  for (const Frontend *frontend : all)
    for (StringRef suffix : frontend->suffixes())
      text += (text.empty() ? "" : ", ") + suffix.str();
  for (const Frontend *frontend : all)
    if (!frontend->folder().empty())
      text += ", or " + frontend->folder().str();
  return text;
}

llvm::SmallVector<const Frontend *> weir::frontends() {
  std::lock_guard<std::mutex> lock(registry().mutex);
  return registry().all;
}

const Frontend *weir::frontendOf(const std::string &path, std::string &why) {
  llvm::SmallVector<const Frontend *> all = frontends();
  StringRef suffix = llvm::sys::path::extension(path);
  if (llvm::sys::fs::is_directory(path)) {
    const Frontend *frontend = ofFolder(path, all);
    if (!frontend)
      why = "found a folder; expected " + possibleFiles(all);
    return frontend;
  }
  for (const Frontend *frontend : all)
    if (hasSuffix(*frontend, suffix))
      return frontend;
  why =
      ("found a model file that ends in \"" + suffix + "\"; expected " + possibleFiles(all)).str();
  for (const Frontend *frontend : all)
    if (StringRef way = frontend->wayFrom(suffix.lower()); !way.empty()) {
      why += "; " + way.str();
      return nullptr;
    }
  auto head = llvm::MemoryBuffer::getFileSlice(path, sniffedBytes, 0);
  if (!head)
    return nullptr;
  llvm::SmallVector<const Frontend *> sniffed;
  for (const Frontend *frontend : all)
    if (frontend->sniffs((*head)->getBuffer().rtrim('\0')))
      sniffed.push_back(frontend);
  if (sniffed.size() == 1)
    return sniffed.front();
  for (const Frontend *frontend : sniffed)
    why += "; it begins as those of " + frontend->name().str() + " do";
  return nullptr;
}
