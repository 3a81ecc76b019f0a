//===- NodeName.cpp - names of the model's nodes --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/weir/NodeName.h"
#include "dialects/weir/Pch.h"

using namespace mlir;

void weir::collectNodeNames(Location loc, llvm::SetVector<StringRef> &names) {
  if (auto name = dyn_cast<NameLoc>(loc))
    names.insert(name.getName().getValue());
  else if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      collectNodeNames(part, names);
  else if (auto call = dyn_cast<CallSiteLoc>(loc))
    collectNodeNames(call.getCallee(), names);
}

StringRef weir::nodeName(Location loc) {
  llvm::SetVector<StringRef> names;
  collectNodeNames(loc, names);
  return names.empty() ? "?" : names.front();
}
