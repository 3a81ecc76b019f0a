//===- OpTable.cpp - the signatures of TensorFlow's operations ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/OpTable.h"
#include "compiler/frontend/tensorflow/TypeConstraints.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <string>
#include <unordered_map>

using namespace weir::tf;

static constexpr char kOperations[] = {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
#embed "operations.txt"
#pragma clang diagnostic pop
};

namespace {

/// Cuts pieces off the front of a line.
class Cursor {
public:
  explicit Cursor(std::string_view text) : rest(text) {}
  bool empty() const { return rest.empty(); }
  std::string_view until(char stop) {
    size_t at = rest.find(stop);
    std::string_view piece = rest.substr(0, at);
    rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
    return piece;
  }

private:
  std::string_view rest;
};

class Table {
public:
  Table();
  const OpDef *find(std::string_view name) const {
    auto it = byName.find(name);
    return it == byName.end() ? nullptr : &it->second;
  }
  const auto &all() const { return byName; }
  /// Types that attributes may be, by where the table has the attribute's name.
  std::unordered_map<const char *, uint64_t> allowed;

private:
  ArgDef parseArg(std::string_view text, const OpDef &op);
  AttrValue parseDefault(std::string_view kind, std::string_view text);
  std::string_view parseString(std::string_view text);

  std::unordered_map<std::string_view, OpDef> byName;
  std::deque<std::string> unescaped;
};

} // namespace

static uint64_t bitOf(DataType type) { return uint64_t(1) << static_cast<unsigned>(type); }

static int64_t parseInt(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

static float parseFloat(std::string_view text) {
  return std::strtof(std::string(text).c_str(), nullptr);
}

/// A quoted string, escapes are \xNN.
std::string_view Table::parseString(std::string_view text) {
  if (text.size() >= 2)
    text = text.substr(1, text.size() - 2);
  if (text.find('\\') == std::string_view::npos)
    return text;
  std::string &out = unescaped.emplace_back();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      int byte = 0;
      std::from_chars(&text[i + 2], &text[i] + 4, byte, 16);
      out += static_cast<char>(byte);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

static Shape parseShape(std::string_view text) {
  Shape shape;
  if (text == "?") {
    shape.unknownRank = true;
    return shape;
  }
  Cursor dims(text.substr(1, text.size() - 2));
  while (!dims.empty())
    shape.dims.push_back(parseInt(dims.until(',')));
  return shape;
}

AttrValue Table::parseDefault(std::string_view kind, std::string_view text) {
  using Kind = AttrValue::Kind;
  AttrValue value;
  if (kind.starts_with("list(")) {
    std::string_view element = kind.substr(5, kind.size() - 6);
    auto list = std::make_shared<AttrValue::List>();
    Cursor items(text.substr(1, text.size() - 2));
    while (!items.empty()) {
      // A shape holds commas of its own.
      std::string_view item;
      if (element == "shape") {
        item = items.until('}');
        list->shapes.push_back(parseShape(std::string(item) + "}"));
        items.until(',');
        list->kind = Kind::Shape;
        continue;
      }
      AttrValue one = parseDefault(element, items.until(','));
      list->kind = one.kind;
      if (one.kind == Kind::String)
        list->strings.push_back(one.s);
      else if (one.kind == Kind::Float)
        list->floats.push_back(one.f);
      else
        list->ints.push_back(one.kind == Kind::Bool ? one.b : one.i);
    }
    value.kind = Kind::List;
    value.list = std::move(list);
  } else if (kind == "string") {
    value.kind = Kind::String;
    value.s = parseString(text);
  } else if (kind == "int") {
    value.kind = Kind::Int;
    value.i = parseInt(text);
  } else if (kind == "float") {
    value.kind = Kind::Float;
    value.f = parseFloat(text);
  } else if (kind == "bool") {
    value.kind = Kind::Bool;
    value.b = text == "true";
  } else if (kind == "type") {
    value.kind = Kind::Type;
    value.i = static_cast<int64_t>(typeOfName(text));
  } else if (kind == "shape") {
    value.kind = Kind::Shape;
    value.shape = std::make_shared<Shape>(parseShape(text));
  } else if (kind == "func") {
    value.kind = Kind::Func;
    value.s = text.substr(3, text.size() - 4);
    value.funcAttrs = std::make_shared<std::vector<Attr>>();
  }
  return value;
}

ArgDef Table::parseArg(std::string_view text, const OpDef &op) {
  ArgDef arg;
  Cursor cursor(text);
  arg.name = cursor.until(':');
  text = text.substr(arg.name.size() + 1);
  if (text.starts_with('&')) {
    arg.isRef = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('@')) {
    arg.typeListAttr = text.substr(1);
    return arg;
  }
  if (size_t star = text.find('*'); star != std::string_view::npos) {
    arg.numberAttr = text.substr(0, star);
    text.remove_prefix(star + 1);
  }
  bool isAttr = std::any_of(op.attrs.begin(), op.attrs.end(),
                            [&](const AttrDef &attr) { return attr.name == text; });
  if (isAttr)
    arg.typeAttr = text;
  else
    arg.type = typeOfName(text);
  return arg;
}

Table::Table() {
  Cursor lines(std::string_view(kOperations, sizeof kOperations));
  while (!lines.empty()) {
    std::string_view line = lines.until('\n');
    if (line.empty() || line[0] == '#')
      continue;
    // name args -> args | attrs | flags; arguments need the attributes' names.
    Cursor parts(line);
    Cursor signature(parts.until('|')), attrs(parts.until('|'));
    std::string_view flags = parts.until('\n');
    OpDef op;
    op.name = signature.until(' ');
    op.isStateful = flags.find('s') != std::string_view::npos;
    while (!attrs.empty()) {
      std::string_view text = attrs.until(' ');
      if (text.empty())
        continue;
      AttrDef &attr = op.attrs.emplace_back();
      Cursor cursor(text);
      attr.name = cursor.until(':');
      attr.kind = cursor.until('=');
      size_t used = attr.name.size() + 1 + attr.kind.size();
      if (size_t open = attr.kind.find('{'); open != std::string_view::npos) {
        Cursor types(attr.kind.substr(open + 1, attr.kind.size() - open - 2));
        while (!types.empty())
          allowed[attr.name.data()] |= bitOf(typeOfName(types.until('/')));
        attr.kind = attr.kind.substr(0, open);
      }
      attr.hasDefault = used < text.size();
      if (attr.hasDefault)
        attr.value = parseDefault(attr.kind, text.substr(used + 1));
    }
    std::vector<ArgDef> *args = &op.inputs;
    while (!signature.empty()) {
      std::string_view text = signature.until(' ');
      if (text == "->")
        args = &op.outputs;
      else if (!text.empty())
        args->push_back(parseArg(text, op));
    }
    std::string_view name = op.name;
    byName.emplace(name, std::move(op));
  }
}

static const Table &table() {
  static const Table instance;
  return instance;
}

uint64_t weir::tf::allowedTypes(const AttrDef &def) {
  auto found = table().allowed.find(def.name.data());
  return found == table().allowed.end() ? 0 : found->second;
}

const OpDef *weir::tf::findOp(std::string_view name) { return table().find(name); }

/// Levenshtein's distance, given up above `limit`.
static size_t distance(std::string_view a, std::string_view b, size_t limit) {
  if (a.size() > b.size() + limit || b.size() > a.size() + limit)
    return limit + 1;
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t next = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = row[j];
      row[j] = next;
    }
  }
  return row[b.size()];
}

std::vector<std::string_view> weir::tf::similarOps(std::string_view name) {
  constexpr size_t limit = 2;
  std::vector<std::pair<size_t, std::string_view>> near;
  if (name.size() > 64)
    return {};
  for (const auto &[known, op] : table().all())
    if (size_t d = distance(name, known, limit); d <= limit)
      near.emplace_back(d, known);
  std::sort(near.begin(), near.end());
  std::vector<std::string_view> names;
  for (size_t i = 0; i < near.size() && i < 3; ++i)
    names.push_back(near[i].second);
  return names;
}

static constexpr int64_t kMaxArgCount = int64_t(1) << 20;

std::optional<int64_t> weir::tf::argCount(const ArgDef &arg, const std::vector<Attr> &attrs) {
  if (!arg.typeListAttr.empty()) {
    const AttrValue *list = findAttr(attrs, arg.typeListAttr);
    if (!list || list->kind != AttrValue::Kind::List)
      return std::nullopt;
    return static_cast<int64_t>(list->list->ints.size());
  }
  if (!arg.numberAttr.empty()) {
    const AttrValue *number = findAttr(attrs, arg.numberAttr);
    if (!number || number->kind != AttrValue::Kind::Int || number->i < 0 ||
        number->i > kMaxArgCount)
      return std::nullopt;
    return number->i;
  }
  return 1;
}

std::optional<std::vector<DataType>> weir::tf::argTypes(const ArgDef &arg,
                                                        const std::vector<Attr> &attrs) {
  if (!arg.typeListAttr.empty()) {
    const AttrValue *list = findAttr(attrs, arg.typeListAttr);
    if (!list || list->kind != AttrValue::Kind::List)
      return std::nullopt;
    std::vector<DataType> types;
    for (int64_t number : list->list->ints)
      types.push_back(toDataType(number));
    return types;
  }
  std::optional<int64_t> count = argCount(arg, attrs);
  if (!count)
    return std::nullopt;
  DataType type = arg.type;
  if (!arg.typeAttr.empty()) {
    const AttrValue *value = findAttr(attrs, arg.typeAttr);
    type = value && value->kind == AttrValue::Kind::Type ? value->type() : DataType::Invalid;
  }
  return std::vector<DataType>(*count, type);
}
