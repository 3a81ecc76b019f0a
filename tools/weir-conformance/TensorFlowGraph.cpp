//===- TensorFlowGraph.cpp - what the runner looks up in a graph ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-conformance/TensorFlowGraph.h"

#include "compiler/frontend/tensorflow/GraphReader.h"
#include "compiler/frontend/tensorflow/TensorDecoder.h"

using namespace weir;
using namespace weir::conformance;
using namespace weir::tools;

bool TensorFlowGraph::open(const std::string &path, std::string &error) {
  file = MappedFile::open(path, error);
  if (!file || !tf::readGraphDef(file->bytes(), graph, error))
    return false;
  for (const tf::NodeDef &node : graph.nodes)
    nodes.emplace(node.name, &node);
  return true;
}

bool TensorFlowGraph::describesItself(std::string_view name,
                                      const std::vector<int64_t> *dims) const {
  const tf::NodeDef *node = find(name);
  if (!node || !node->op.starts_with("Placeholder"))
    return false;
  const tf::AttrValue *shape = tf::findAttr(node->attrs, "shape");
  if (!shape || !shape->shape || shape->shape->unknownRank)
    return false;
  if (!dims)
    return true;
  if (shape->shape->dims.size() != dims->size())
    return false;
  for (size_t d = 0; d < dims->size(); ++d)
    if (shape->shape->dims[d] >= 0 && shape->shape->dims[d] != (*dims)[d])
      return false;
  return true;
}

std::string_view weir::conformance::nodeOf(std::string_view tensor) {
  size_t colon = tensor.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == tensor.size() ||
      tensor.find_first_not_of("0123456789", colon + 1) != std::string_view::npos)
    return tensor;
  return tensor.substr(0, colon);
}

bool weir::conformance::constantValue(const tf::NodeDef &node, HostTensor &tensor) {
  const tf::AttrValue *value = tf::findAttr(node.attrs, "value");
  if (node.op != "Const" || !value || !value->tensor)
    return false;
  const tf::Tensor &constant = *value->tensor;
  int32_t dtype = dtypeOfName(tf::typeName(constant.type));
  tf::TensorValues values;
  std::string error;
  if (dtype == WEIR_INVALID || constant.shape.unknownRank ||
      !tf::decodeTensor(constant, values, error))
    return false;
  tensor = HostTensor();
  tensor.dtype = dtype;
  tensor.dims = constant.shape.dims;
  if (values.kind == tf::TensorValues::Kind::Strings) {
    for (int64_t i = 0; i < values.count; ++i)
      tensor.strings.emplace_back(values.strings.empty()
                                      ? std::string_view()
                                      : values.strings[values.strings.size() == 1 ? 0 : i]);
  } else if (values.kind == tf::TensorValues::Kind::Splat) {
    for (int64_t i = 0; i < values.count; ++i)
      tensor.bytes += values.bytes();
  } else {
    tensor.bytes = values.bytes();
  }
  return true;
}

FeedSpec weir::conformance::feedOf(const TensorFlowGraph &graph, std::string tensor,
                                   std::string name, const HostTensor &value, bool contradict) {
  FeedSpec feed{std::move(tensor), std::move(name)};
  if (!graph.describesItself(nodeOf(feed.value), contradict ? &value.dims : nullptr)) {
    feed.shape = value.dims;
    feed.dtype = tools::dtypeName(value.dtype);
  }
  return feed;
}
