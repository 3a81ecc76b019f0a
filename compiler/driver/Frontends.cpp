//===- Frontends.cpp - the formats of models that weir reads --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Frontends.h"
#include "compiler/driver/Formats.h"

// Made of what the formats' folders say: no source of the compiler names them.
#include "compiler/driver/RegisteredFrontends.h"

#include <mutex>

using namespace weir;

llvm::SmallVector<const Frontend *> driver::allFrontends() {
  static std::once_flag once;
  std::call_once(once, registerFrontends);
  return frontends();
}

const Frontend *driver::formatOf(const std::string &path, std::string &why) {
  allFrontends();
  return frontendOf(path, why);
}

std::string driver::modelFiles() {
  llvm::SmallVector<const Frontend *> all = allFrontends();
  std::string text;
  for (const Frontend *frontend : all)
    text += (text.empty() ? "" : frontend == all.back() ? ", or " : ", ") + frontend->files().str();
  return text;
}

std::string driver::supportedOperators() {
  std::string text;
  for (const Frontend *frontend : allFrontends())
    for (const SupportedOperator &op : frontend->operators()) {
      text += frontend->name().str() + " ";
      if (!op.domain.empty())
        text += op.domain + " ";
      text += op.name;
      if (op.first)
        text += " " + std::to_string(op.first) + "-" + (op.last ? std::to_string(op.last) : "");
      text += "\n";
    }
  return text;
}

bool driver::isOwnIr(const std::string &path) {
  std::string ignored;
  const Frontend *frontend = formatOf(path, ignored);
  return frontend && frontend->isOwnIr();
}
