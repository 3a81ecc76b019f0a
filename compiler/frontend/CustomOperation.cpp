//===- CustomOperation.cpp - operations that users bring ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/CustomOperation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace weir;
namespace json = llvm::json;

/// "input:2" as 2; -1 for anything else.
static int inputOf(llvm::StringRef text) {
  int number;
  if (!text.consume_front("input:") || text.getAsInteger(10, number) || number < 0)
    return -1;
  return number;
}

static bool readOutput(const json::Object &object, CustomOperation::Output &output,
                       std::string &error) {
  std::optional<llvm::StringRef> dtype = object.getString("dtype");
  if (!dtype) {
    error = "an output needs a \"dtype\": f32, i64, … or input:0";
    return false;
  }
  output.dtypeOfInput = inputOf(*dtype);
  output.dtype = dtype->str();
  if (std::optional<llvm::StringRef> text = object.getString("shape")) {
    output.shapeOfInput = inputOf(*text);
    if (output.shapeOfInput >= 0)
      return true;
  } else if (const json::Array *sizes = object.getArray("shape")) {
    for (const json::Value &size : *sizes) {
      std::optional<int64_t> number = size.getAsInteger();
      if (!number || *number < -1) {
        error = "a \"shape\" holds sizes, or -1 for what the function decides";
        return false;
      }
      output.shape.push_back(*number);
    }
    return true;
  }
  error = "an output needs a \"shape\": a list of sizes, or input:0";
  return false;
}

static bool readOperation(const json::Value &value, CustomOperation &operation,
                          std::string &error) {
  const json::Object *object = value.getAsObject();
  if (!object || !object->getString("name")) {
    error = "an operation needs a \"name\"";
    return false;
  }
  operation.name = object->getString("name")->str();
  operation.function = object->getString("function").value_or("").str();
  operation.pure = object->getBoolean("pure").value_or(true);
  operation.gradient = object->getString("gradient").value_or("").str();
  if (std::optional<double> flops = object->getNumber("flops_per_element")) {
    if (!(*flops >= 0)) {
      error = "\"flops_per_element\" is a number from 0 on";
      return false;
    }
    operation.flopsPerElement = *flops;
  }
  if (const json::Array *names = object->getArray("attributes"))
    for (const json::Value &name : *names) {
      if (!name.getAsString()) {
        error = "\"attributes\" holds names";
        return false;
      }
      operation.attributes.push_back(name.getAsString()->str());
    }
  const json::Array *outputs = object->getArray("outputs");
  if (!outputs) {
    error = "operation \"" + operation.name + "\" needs \"outputs\"";
    return false;
  }
  for (const json::Value &output : *outputs) {
    operation.outputs.emplace_back();
    if (!output.getAsObject()) {
      error = "\"outputs\" holds objects";
      return false;
    }
    if (!readOutput(*output.getAsObject(), operation.outputs.back(), error))
      return false;
  }
  return true;
}

/// Finds the functions that gradients name.
static bool resolveGradients(std::vector<CustomOperation> &operations, std::string &error) {
  for (CustomOperation &operation : operations) {
    if (operation.gradient.empty())
      continue;
    auto named = llvm::find_if(
        operations, [&](const CustomOperation &other) { return other.name == operation.gradient; });
    if (named == operations.end()) {
      error = "operation \"" + operation.name + "\" has the gradient \"" + operation.gradient +
              "\", which is not in the file";
      return false;
    }
    operation.gradientFunction = named->function;
  }
  return true;
}

bool weir::readCustomOperations(const std::string &path, std::vector<CustomOperation> &operations,
                                std::string &error) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    error = "cannot be read: " + buffer.getError().message();
    return false;
  }
  llvm::Expected<json::Value> root = json::parse((*buffer)->getBuffer());
  if (!root) {
    error = "is no JSON: " + llvm::toString(root.takeError());
    return false;
  }
  const json::Object *object = root->getAsObject();
  const json::Array *list = object ? object->getArray("operations") : nullptr;
  if (!list) {
    error = "found no list \"operations\"";
    return false;
  }
  for (const json::Value &value : *list) {
    operations.emplace_back();
    if (!readOperation(value, operations.back(), error))
      return false;
  }
  return resolveGradients(operations, error);
}
