//===- CustomOperation.cpp - operations that users bring ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/CustomOperation.h"
#include "compiler/frontend/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
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

namespace {

/// Reads the fields of an object by name and type. A field that nobody asks for,
/// and one of another type, is an error: a slip of the hand is not to be taken
/// for something left out.
class Fields {
public:
  Fields(const json::Object &object, std::string where, std::string &error)
      : object(object), where(std::move(where)), error(error) {}

  const json::Value *find(llvm::StringRef name) {
    known.push_back(name);
    return object.get(name);
  }
  std::optional<llvm::StringRef> text(llvm::StringRef name) {
    return typed(name, &json::Value::getAsString, "a string");
  }
  std::optional<bool> flag(llvm::StringRef name) {
    return typed(name, &json::Value::getAsBoolean, "true or false");
  }
  std::optional<double> number(llvm::StringRef name) {
    return typed(name, &json::Value::getAsNumber, "a number");
  }
  /// Null where there is none.
  const json::Array *list(llvm::StringRef name) {
    const json::Value *value = find(name);
    if (value && !value->getAsArray())
      refuse(name, "a list");
    return value ? value->getAsArray() : nullptr;
  }
  void refuse(llvm::StringRef name, llvm::StringRef wanted) {
    if (error.empty())
      error = where + ": expected \"" + name.str() + "\" to be " + wanted.str() + ", got " +
              (object.get(name) ? "another form" : "none");
  }
  /// Whether all went well, and no field is left.
  bool finish() {
    for (const auto &[key, value] : object) {
      llvm::StringRef name = key;
      if (!error.empty() || llvm::is_contained(known, name))
        continue;
      NearestName nearest(name);
      for (llvm::StringRef one : known)
        nearest.show(one);
      error = where + ": found field \"" + name.str() + "\"; possible: " + llvm::join(known, ", ") +
              nearest.question();
    }
    return error.empty();
  }

private:
  template <typename T>
  std::optional<T> typed(llvm::StringRef name, std::optional<T> (json::Value::*as)() const,
                         llvm::StringRef wanted) {
    const json::Value *value = find(name);
    if (!value)
      return std::nullopt;
    std::optional<T> result = (value->*as)();
    if (!result)
      refuse(name, wanted);
    return result;
  }

  const json::Object &object;
  std::string where;
  std::string &error;
  llvm::SmallVector<llvm::StringRef> known;
};

} // namespace

static bool readOutput(const json::Object &object, const std::string &where,
                       CustomOperation::Output &output, std::string &error) {
  Fields fields(object, where, error);
  if (std::optional<llvm::StringRef> dtype = fields.text("dtype")) {
    output.dtypeOfInput = inputOf(*dtype);
    output.dtype = dtype->str();
  } else {
    fields.refuse("dtype", "f32, i64, … or input:0");
  }
  const json::Value *shape = fields.find("shape");
  if (shape && shape->getAsString()) {
    output.shapeOfInput = inputOf(*shape->getAsString());
    if (output.shapeOfInput < 0)
      fields.refuse("shape", "a list of sizes, or input:0");
  } else if (const json::Array *sizes = shape ? shape->getAsArray() : nullptr) {
    for (const json::Value &size : *sizes) {
      std::optional<int64_t> number = size.getAsInteger();
      if (!number || *number < -1)
        fields.refuse("shape", "a list of sizes, or of -1 for what the function decides");
      output.shape.push_back(number.value_or(-1));
    }
  } else {
    fields.refuse("shape", "a list of sizes, or input:0");
  }
  return fields.finish();
}

const std::vector<std::string> &CustomOperation::attributeTypes() {
  static const std::vector<std::string> types = {"int",     "bool",  "float", "string",
                                                 "type",    "shape", "ints",  "floats",
                                                 "strings", "types", "tensor"};
  return types;
}

/// Adds a value of an attribute's type, or of one element of it. False: it is of another.
static bool addConstant(const json::Value &value, llvm::StringRef type,
                        CustomOperation::Constant &constant) {
  if (type == "float") {
    if (std::optional<double> number = value.getAsNumber()) {
      constant.reals.push_back(*number);
      return true;
    }
  } else if (type == "string" || type == "type") {
    if (std::optional<llvm::StringRef> text = value.getAsString()) {
      constant.texts.push_back(text->str());
      return true;
    }
  } else if (type == "bool") {
    if (std::optional<bool> flag = value.getAsBoolean()) {
      constant.integers.push_back(*flag);
      return true;
    }
  } else if (std::optional<int64_t> number = value.getAsInteger()) {
    constant.integers.push_back(*number);
    return true;
  }
  return false;
}

/// The type of a list's elements, "" for what is no list.
static llvm::StringRef elementOf(llvm::StringRef type) {
  return type == "shape" ? "int" : type.consume_back("s") ? type : "";
}

static bool readAttribute(const json::Object &object, const std::string &operation,
                          CustomOperation::Attribute &attribute, std::string &error) {
  Fields fields(object, "an attribute of " + operation, error);
  if (std::optional<llvm::StringRef> name = fields.text("name"))
    attribute.name = name->str();
  else
    fields.refuse("name", "the attribute's name in the model");
  attribute.type = fields.text("type").value_or("int").str();
  const std::vector<std::string> &types = CustomOperation::attributeTypes();
  if (!llvm::is_contained(types, attribute.type))
    fields.refuse("type", llvm::join(types, ", "));
  if (const json::Value *standard = fields.find("default")) {
    llvm::StringRef element = elementOf(attribute.type);
    attribute.standard.emplace();
    const json::Array *list = standard->getAsArray();
    bool good = attribute.type != "tensor";
    if (element.empty())
      good = good && addConstant(*standard, attribute.type, *attribute.standard);
    else if (list)
      for (const json::Value &value : *list)
        good = good && addConstant(value, element, *attribute.standard);
    if (!good || (!element.empty() && !list))
      fields.refuse("default", attribute.type == "tensor" ? "none for a tensor"
                                                          : "a value of type " + attribute.type);
  }
  return fields.finish();
}

static bool readOperation(const json::Value &value, CustomOperation &operation,
                          std::string &error) {
  const json::Object *object = value.getAsObject();
  if (!object || !object->getString("name")) {
    error = "an operation needs a \"name\"";
    return false;
  }
  std::string where = "operation \"" + object->getString("name")->str() + "\"";
  Fields fields(*object, where, error);
  operation.name = fields.text("name")->str();
  operation.function = fields.text("function").value_or("").str();
  operation.pure = fields.flag("pure").value_or(true);
  operation.gradient = fields.text("gradient").value_or("").str();
  if (std::optional<double> flops = fields.number("flops_per_element")) {
    if (!(*flops >= 0))
      fields.refuse("flops_per_element", "a number from 0 on");
    operation.flopsPerElement = *flops;
  }
  if (const json::Array *attributes = fields.list("attributes"))
    for (const json::Value &attribute : *attributes) {
      operation.attributes.emplace_back();
      if (std::optional<llvm::StringRef> name = attribute.getAsString())
        operation.attributes.back().name = name->str();
      else if (!attribute.getAsObject())
        fields.refuse("attributes", "a list of names and objects");
      else if (!readAttribute(*attribute.getAsObject(), where, operation.attributes.back(), error))
        return false;
    }
  const json::Array *outputs = fields.list("outputs");
  if (!outputs) {
    fields.refuse("outputs", "a list of what it returns");
    return false;
  }
  for (const json::Value &output : *outputs) {
    operation.outputs.emplace_back();
    if (!output.getAsObject()) {
      fields.refuse("outputs", "a list of objects");
      return false;
    }
    if (!readOutput(*output.getAsObject(), "an output of " + where, operation.outputs.back(),
                    error))
      return false;
  }
  return fields.finish();
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
  Fields fields(*object, "the file", error);
  (void)fields.list("operations");
  if (!fields.finish())
    return false;
  for (const json::Value &value : *list) {
    operations.emplace_back();
    if (!readOperation(value, operations.back(), error))
      return false;
  }
  return resolveGradients(operations, error);
}
