//===- MapImports.cpp - CastMap, DictVectorizer ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A map is two feeds, its keys and its values, in one order: here a list of two
// tensors of one size. Each key is there once.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/NodeImport.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

struct Map {
  Value keys, values; ///< vectors
};

/// Input 0; reports where it is none.
std::optional<Map> mapOf(NodeImport &n) {
  const Imported *x = n.has(0) ? &n.imported(0) : nullptr;
  if (!x || x->kind != Imported::Kind::Sequence || x->elements.size() != 2) {
    (void)n.unsupported("expected " + Twine(n.spec ? n.spec->inputName(0) : "the input") +
                        " to be a map that is fed to the model, got another value");
    return std::nullopt;
  }
  return Map{x->elements[0].tensor, x->elements[1].tensor};
}

/// values[i] where keys[i] is wanted, `other` where none is; [1, wanted].
Value lookUp(NodeImport &n, Value wanted, Value keys, Value values, Value other) {
  if (!wanted || !keys || !values || !other)
    return {};
  auto type = RankedTensorType::get(n.sizes(wanted), n.b.getI64Type());
  Operation *found = n.kernelCall("weir_kernel_label_index", {type}, {wanted, keys});
  if (!found)
    return {};
  // What is not there is one entry more.
  Value all = n.concat({values, n.reshape(other, {1})}, 0);
  Value at = found->getResult(0), end = n.toScalar(n.sizeOf(values, 0));
  return n.unsqueeze(n.gather(all, n.select(n.compare("ge", at, 0), at, end), 0), {0});
}

/// The values of a vocabulary's keys, zero or the empty string of those that the
/// map does not have.
LogicalResult dictVectorizer(NodeImport &n) {
  std::optional<Map> map = mapOf(n);
  if (!map)
    return failure();
  SmallVector<StringRef> names;
  for (std::string_view name : n.ss("string_vocabulary"))
    names.emplace_back(name.data(), name.size());
  std::optional<SmallVector<int64_t>> numbers = n.is("int64_vocabulary");
  if (names.empty() == (!numbers || numbers->empty()))
    return n.invalid("expected one vocabulary, got both or none");
  Value wanted = names.empty() ? n.ints(*numbers) : n.strings(names);
  if (n.element(wanted) != n.element(map->keys))
    return n.invalid("found a vocabulary whose type is not that of the map's keys");
  return n.result(lookUp(n, wanted, map->keys, map->values, n.like(map->values, 0)));
}

/// The values of a map as a row: in the order of their keys, or each where its
/// key says, with nothing between.
LogicalResult castMap(NodeImport &n) {
  std::optional<Map> map = mapOf(n);
  if (!map)
    return failure();
  std::string_view form = n.s("map_form"), to = n.s("cast_to");
  int64_t most = n.i("max_map");
  bool sparse = form == "SPARSE";
  if ((!sparse && form != "DENSE") || (sparse && !n.isStep(most)))
    return n.invalid(
        "expected map_form DENSE, or SPARSE with a max_map from 1 on, got another pair");
  if (!n.element(map->keys).isInteger(64))
    return n.invalid("found keys that are not of type i64");
  Type type = to == "TO_FLOAT"   ? Type(n.b.getF32Type())
              : to == "TO_INT64" ? Type(n.b.getI64Type())
                                 : Type();
  if (to == "TO_STRING")
    type = StringType::get(n.b.getContext());
  if (!type)
    return n.invalid("expected cast_to TO_FLOAT, TO_INT64 or TO_STRING, got " +
                     Twine(StringRef(to.data(), to.size())));
  auto i64 = n.typeAttr(n.b.getI64Type());
  Value count = sparse ? n.ints({most}) : n.sizeOf(map->keys, 0);
  Value wanted = n.op<IotaOp>(count, n.number(0), i64), keys = map->keys;
  if (sparse)
    n.require(n.reduce(n.compare("ge", keys, 0.0), "all", {0}, false), "a key is negative");
  else // by how many keys are less
    keys = n.reduce(n.cast(n.compare("gt", n.unsqueeze(keys, {1}), keys), n.b.getI64Type()), "sum",
                    {1}, false);
  Value values = castElements(n, map->values, type);
  return n.result(values ? lookUp(n, wanted, keys, values, n.like(values, 0)) : Value());
}

constexpr std::string_view ml = "ai.onnx.ml";

constexpr OperatorImport table[] = {
    {ml, "CastMap", 1, 0, castMap},
    {ml, "DictVectorizer", 1, 0, dictVectorizer},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::mapImports() { return table; }
