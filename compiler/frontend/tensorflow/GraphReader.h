//===- GraphReader.h - GraphDef from bytes ----------------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads GraphDef off the wire, over bytes it does not own. Costs memory in
// proportion to nodes and attributes, not to tensors: their payloads are found,
// not copied. Nothing the bytes claim is believed before it is compared with
// the bytes that are left; messages inside messages are read to a fixed depth.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_TENSORFLOW_GRAPHREADER_H
#define WEIR_COMPILER_FRONTEND_TENSORFLOW_GRAPHREADER_H

#include "compiler/frontend/tensorflow/GraphDef.h"

#include <string>
#include <string_view>

namespace weir::tf {

/// Reads a GraphDef message. False, with one line in `error` that says where,
/// if the bytes are not one.
bool readGraphDef(std::string_view bytes, GraphDef &graph, std::string &error);

/// Reads a TensorProto message, checking only its structure.
bool readTensor(std::string_view bytes, Tensor &tensor);

/// Reads a TensorShapeProto message.
bool readShape(std::string_view bytes, Shape &shape);

/// Reads an AttrValue message; `depth` counts the messages around it.
bool readAttrValue(std::string_view bytes, AttrValue &value, int depth = 0);

} // namespace weir::tf

#endif // WEIR_COMPILER_FRONTEND_TENSORFLOW_GRAPHREADER_H
