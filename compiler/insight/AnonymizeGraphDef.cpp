//===- AnonymizeGraphDef.cpp - GraphDefs without names --------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/WireReader.h"
#include "compiler/frontend/WireWriter.h"
#include "compiler/frontend/tensorflow/GraphReader.h"
#include "compiler/frontend/tensorflow/OpTable.h"
#include "compiler/insight/Anonymize.h"
#include "compiler/insight/GraphDefFile.h"

#include "compiler/emit/OutputFile.h"

#include <charconv>
#include <set>

using namespace weir;
using namespace weir::insight;
using frontend::WireReader;
using frontend::WireWriter;

namespace {

using Bytes = std::string_view;

char kindOf(tf::DataType type) {
  using tf::DataType;
  switch (type) {
  case DataType::Float:
  case DataType::Double:
  case DataType::Half:
    return 'f';
  case DataType::BFloat16:
    return 'b';
  case DataType::Complex64:
  case DataType::Complex128:
    return 'c';
  default:
    return tf::elementBytes(type) ? 'i' : 0;
  }
}

class GraphDefAnonymizer {
public:
  GraphDefAnonymizer(const tf::GraphDef &def, NewNames &names) : names(names) {
    for (const tf::FunctionDef &function : def.functions)
      functions.insert(function.name);
  }

  std::string graph(Bytes message);

private:
  std::string function(Bytes message);
  std::string signature(Bytes message);
  std::string argument(Bytes message);
  std::string node(Bytes message);
  std::string attribute(Bytes entry);
  std::string value(Bytes message, Bytes key);
  std::string tensor(Bytes message);
  std::string called(Bytes message);
  std::string input(Bytes text);
  std::string functionName(Bytes name) {
    return functions.count(name) ? names.of("f", name) : std::string(name);
  }
  std::string pairOf(Bytes message, std::string (GraphDefAnonymizer::*second)(Bytes));
  std::string nodeName(Bytes name) { return names.of("n", name); }

  NewNames &names;
  std::set<Bytes> functions;
  std::map<Bytes, Bytes> operations; ///< of the nodes of the function that is written
};

/// `n`, `n:1`, `^n`; within functions also `n:out:0` and an argument's name.
std::string GraphDefAnonymizer::input(Bytes text) {
  std::string prefix;
  if (text.starts_with('^')) {
    prefix = "^";
    text.remove_prefix(1);
  }
  size_t colon = text.find(':');
  Bytes name = text.substr(0, colon), rest = colon == Bytes::npos ? Bytes() : text.substr(colon);
  std::string result = prefix + nodeName(name);
  // Outputs of a function have names of ours, those of operations their own.
  auto op = operations.find(name);
  size_t second = rest.find(':', 1);
  if (op != operations.end() && functions.count(op->second) && second != Bytes::npos)
    return result + ":" + nodeName(rest.substr(1, second - 1)) + std::string(rest.substr(second));
  return result + std::string(rest);
}

/// Values in the place of a tensor's, unless it is structure.
std::string GraphDefAnonymizer::tensor(Bytes message) {
  tf::Tensor read;
  if (!tf::readTensor(message, read))
    return std::string(message);
  int64_t count = 1;
  for (int64_t dim : read.shape.dims)
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count))
      return std::string(message);
  char kind = kindOf(read.type);
  WireWriter out;
  if (read.type == tf::DataType::String) {
    for (WireReader reader(message); reader.next();)
      if (reader.field() == 8)
        out.bytes(8, names.of("s", reader.bytes()));
      else
        out.raw(reader.raw());
    return out.take();
  }
  if (!kind || isStructure(read.type, count))
    return std::string(message);
  // One value that stands for all is no weight; nothing is made that the file does not hold.
  int64_t bytes = tf::elementBytes(read.type);
  int64_t held = int64_t(read.content.empty() ? message.size() : read.content.size() / bytes);
  if (count > held)
    return std::string(message);
  for (WireReader reader(message); reader.next();)
    if (reader.field() <= 3)
      out.raw(reader.raw());
  out.bytes(4, otherValues(kind, bytes, read.shape.dims, count * bytes, names.numberOf(message)));
  return out.take();
}

/// NameAttrList.
std::string GraphDefAnonymizer::called(Bytes message) {
  WireWriter out;
  for (WireReader reader(message); reader.next();)
    if (reader.field() == 1)
      out.bytes(1, functionName(reader.bytes()));
    else if (reader.field() == 2)
      out.bytes(2, attribute(reader.bytes()));
    else
      out.raw(reader.raw());
  return out.take();
}

std::string GraphDefAnonymizer::value(Bytes message, Bytes key) {
  bool namesThings = key == "shared_name" || key == "container" || key == "tensor_name" ||
                     key == "_gradient_op_type";
  auto text = [&](Bytes string) -> std::string {
    if (key == "_class" && string.starts_with("loc:@"))
      return "loc:@" + nodeName(string.substr(5));
    if (namesThings)
      return functions.count(string) ? functionName(string) : names.of("r", string);
    return std::string(string);
  };
  WireWriter out;
  for (WireReader reader(message); reader.next();)
    switch (reader.field()) {
    case 1: {
      WireWriter list;
      for (WireReader entry(reader.bytes()); entry.next();)
        if (entry.field() == 2)
          list.bytes(2, text(entry.bytes()));
        else if (entry.field() == 8)
          list.bytes(8, tensor(entry.bytes()));
        else if (entry.field() == 9)
          list.bytes(9, called(entry.bytes()));
        else
          list.raw(entry.raw());
      out.bytes(1, list.take());
      break;
    }
    case 2:
      out.bytes(2, text(reader.bytes()));
      break;
    case 8:
      out.bytes(8, tensor(reader.bytes()));
      break;
    case 10:
      out.bytes(10, called(reader.bytes()));
      break;
    default:
      out.raw(reader.raw());
    }
  return out.take();
}

/// An entry of a map of attributes; empty: it is left out.
std::string GraphDefAnonymizer::attribute(Bytes entry) {
  WireWriter out;
  Bytes key;
  for (WireReader reader(entry); reader.next();)
    if (reader.field() == 1)
      key = reader.bytes();
  for (WireReader reader(entry); reader.next();)
    if (reader.field() == 2)
      out.bytes(2, value(reader.bytes(), key));
    else
      out.raw(reader.raw());
  return out.take();
}

/// Attributes of exporters that say where things come from.
bool isOrigin(Bytes entry) {
  for (WireReader reader(entry); reader.next();)
    if (reader.field() == 1) {
      Bytes key = reader.bytes();
      return key == "_user_specified_name" || key == "_input_hostmem" ||
             key == "_original_func_name" || key == "api_implements" || key == "_stack_frame";
    }
  return false;
}

std::string GraphDefAnonymizer::node(Bytes message) {
  WireWriter out;
  for (WireReader reader(message); reader.next();)
    switch (reader.field()) {
    case 1:
      out.bytes(1, nodeName(reader.bytes()));
      break;
    case 2:
      out.bytes(2, functionName(reader.bytes()));
      break;
    case 3:
      out.bytes(3, input(reader.bytes()));
      break;
    case 5:
      if (!isOrigin(reader.bytes()))
        out.bytes(5, attribute(reader.bytes()));
      break;
    case 6: // names of what the node was made from
      break;
    default:
      out.raw(reader.raw());
    }
  return out.take();
}

/// An ArgDef: a node of the body goes by an argument's name.
std::string GraphDefAnonymizer::argument(Bytes message) {
  WireWriter out;
  for (WireReader reader(message); reader.next();)
    if (reader.field() == 1)
      out.bytes(1, nodeName(reader.bytes()));
    else if (reader.field() != 2)
      out.raw(reader.raw());
  return out.take();
}

std::string GraphDefAnonymizer::signature(Bytes message) {
  WireWriter out;
  for (WireReader reader(message); reader.next();)
    switch (reader.field()) {
    case 1:
      out.bytes(1, functionName(reader.bytes()));
      break;
    case 2:
    case 3:
      out.bytes(reader.field(), argument(reader.bytes()));
      break;
    case 5:
    case 6: // texts
      break;
    case 20:
      out.bytes(20, nodeName(reader.bytes()));
      break;
    default:
      out.raw(reader.raw());
    }
  return out.take();
}

/// An entry of a map from names of outputs to values.
std::string GraphDefAnonymizer::pairOf(Bytes message,
                                       std::string (GraphDefAnonymizer::*second)(Bytes)) {
  WireWriter out;
  for (WireReader reader(message); reader.next();)
    if (reader.field() == 1)
      out.bytes(1, nodeName(reader.bytes()));
    else
      out.bytes(2, (this->*second)(reader.bytes()));
  return out.take();
}

std::string GraphDefAnonymizer::function(Bytes message) {
  WireWriter out;
  operations.clear();
  for (WireReader reader(message); reader.next();)
    if (reader.field() == 3) {
      Bytes name, op;
      for (WireReader node(reader.bytes()); node.next();)
        if (node.field() == 1)
          name = node.bytes();
        else if (node.field() == 2)
          op = node.bytes();
      operations.emplace(name, op);
    }
  for (WireReader reader(message); reader.next();)
    switch (reader.field()) {
    case 1:
      out.bytes(1, signature(reader.bytes()));
      break;
    case 3:
      out.bytes(3, node(reader.bytes()));
      break;
    case 4:
    case 6:
      out.bytes(reader.field(), pairOf(reader.bytes(), &GraphDefAnonymizer::input));
      break;
    case 5:
      if (!isOrigin(reader.bytes()))
        out.bytes(5, attribute(reader.bytes()));
      break;
    case 7: // attributes of arguments: their names for users
      break;
    default:
      out.raw(reader.raw());
    }
  return out.take();
}

std::string GraphDefAnonymizer::graph(Bytes message) {
  WireWriter out;
  for (WireReader reader(message); reader.next();)
    switch (reader.field()) {
    case 1:
      out.bytes(1, node(reader.bytes()));
      break;
    case 2: {
      WireWriter library;
      for (WireReader entry(reader.bytes()); entry.next();)
        if (entry.field() == 1) {
          library.bytes(1, function(entry.bytes()));
        } else if (entry.field() == 2) {
          WireWriter gradient;
          for (WireReader pair(entry.bytes()); pair.next();)
            gradient.bytes(pair.field(), functionName(pair.bytes()));
          library.bytes(2, gradient.take());
        }
      out.bytes(2, library.take());
      break;
    }
    case 5: // where nodes come from
      break;
    default:
      out.raw(reader.raw());
    }
  return out.take();
}

} // namespace

bool insight::anonymizeGraphDef(const std::string &path, const std::string &output, NewNames &names,
                                DiagnosticSink &sink) {
  std::unique_ptr<GraphDefFile> opened = GraphDefFile::open(path, {}, sink);
  if (!opened)
    return false;
  if (opened->savedModel()) {
    sink.report({"W0153",
                 path,
                 "",
                 "",
                 "found a SavedModel, whose signatures and variables lie beside its graph; "
                 "possible: a GraphDef, as weirc cut writes it of this",
                 {}});
    return false;
  }
  std::string bytes = GraphDefAnonymizer(opened->graph(), names).graph(opened->bytes());
  if (llvm::Error failed = writeFile(output, bytes)) {
    sink.report({"W0104", path, "", "", llvm::toString(std::move(failed)), {}});
    return false;
  }
  return true;
}
