//===- UnusedAttributes.cpp - attributes that say nothing here ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/UnusedAttributes.h"

#include <algorithm>
#include <set>
#include <utility>

using namespace weir::tf;

static constexpr char kReasons[] = {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
#embed "attributes.txt"
#pragma clang diagnostic pop
};

/// Operations and attributes of the table; the operation "*": all that have it.
static const std::set<std::pair<std::string_view, std::string_view>> &reasons() {
  static const auto pairs = [] {
    std::set<std::pair<std::string_view, std::string_view>> found;
    std::string_view text(kReasons, sizeof kReasons);
    while (!text.empty()) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      size_t first = line.find(' '), second = line.find(' ', first + 1);
      if (!line.starts_with('#') && second != std::string_view::npos)
        found.emplace(line.substr(0, first), line.substr(first + 1, second - first - 1));
    }
    return found;
  }();
  return pairs;
}

bool weir::tf::changesNothing(std::string_view op, std::string_view attr) {
  return reasons().contains({"*", attr}) || reasons().contains({op, attr});
}

bool weir::tf::isOfArguments(const OpDef &op, const AttrDef &attr) {
  auto names = [&](const ArgDef &arg) {
    return arg.typeAttr == attr.name || arg.numberAttr == attr.name ||
           arg.typeListAttr == attr.name;
  };
  return std::any_of(op.inputs.begin(), op.inputs.end(), names) ||
         std::any_of(op.outputs.begin(), op.outputs.end(), names);
}

static bool isSame(const Shape &x, const Shape &y) {
  return x.unknownRank == y.unknownRank && x.dims == y.dims;
}

bool weir::tf::isDefault(const AttrValue &value, const AttrDef &attr) {
  using Kind = AttrValue::Kind;
  static const AttrValue nothing;
  static const AttrValue::List noList;
  static const Shape unknown{/*unknownRank=*/true, {}};
  const AttrValue &other = attr.hasDefault ? attr.value : nothing;
  switch (value.kind) {
  case Kind::None:
    return true;
  case Kind::String:
    return value.s == other.s;
  case Kind::Int:
  case Kind::Type:
    return value.i == other.i;
  case Kind::Float:
    return value.f == other.f;
  case Kind::Bool:
    return value.b == other.b;
  case Kind::Shape:
    return isSame(value.shape ? *value.shape : unknown, other.shape ? *other.shape : unknown);
  case Kind::List: {
    const AttrValue::List &mine = value.list ? *value.list : noList;
    const AttrValue::List &theirs = other.list ? *other.list : noList;
    return mine.strings == theirs.strings && mine.ints == theirs.ints &&
           mine.floats == theirs.floats && mine.tensors.empty() && mine.funcs.empty() &&
           std::equal(mine.shapes.begin(), mine.shapes.end(), theirs.shapes.begin(),
                      theirs.shapes.end(), isSame);
  }
  default:
    return false;
  }
}
