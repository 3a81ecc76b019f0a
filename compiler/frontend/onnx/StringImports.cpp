//===- StringImports.cpp - operators on strings ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strings are computed by the runtime's kernels (runtime/include/weir/
// kernels.h), which are called by name.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/NodeImport.h"

using namespace mlir;
using namespace weir;
using namespace weir::onnx;

namespace {

LogicalResult concat(NodeImport &n) {
  Value x = n.in(0), y = n.in(1);
  if (!x || !y)
    return failure();
  SmallVector<Type> types;
  if (failed(weir::detail::inferBroadcast(n.loc, {x, y}, n.element(x), types)))
    return failure();
  return n.result(n.kernelCall("weir_kernel_string_concat", types, {x, y}, {})->getResult(0));
}

LogicalResult split(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  std::string_view delimiter = n.s("delimiter");
  Value by = n.stringScalar(StringRef(delimiter.data(), delimiter.size()));
  int64_t most = n.hasAttr("maxsplit") ? n.i("maxsplit") : -1;
  SmallVector<int64_t> shape(n.sizes(x));
  auto counts = RankedTensorType::get(shape, n.b.getI64Type());
  shape.push_back(ShapedType::kDynamic);
  auto parts = RankedTensorType::get(shape, n.element(x));
  Operation *made = n.kernelCall("weir_kernel_string_split", {parts, counts}, {x, by}, {most});
  return n.results({made->getResult(0), made->getResult(1)});
}

LogicalResult regexFullMatch(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  std::string_view pattern = n.s("pattern");
  auto type = RankedTensorType::get(n.sizes(x), n.b.getI1Type());
  return n.result(n.kernelCall("weir_kernel_regex_full_match", {type},
                               {x, n.stringScalar(StringRef(pattern.data(), pattern.size()))}, {})
                      ->getResult(0));
}

SmallVector<StringRef> texts(NodeImport &n, std::string_view attribute) {
  SmallVector<StringRef> values;
  for (std::string_view value : n.ss(attribute))
    values.emplace_back(value.data(), value.size());
  return values;
}

LogicalResult normalizer(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  if (n.rank(x) != 1 && n.rank(x) != 2)
    return n.invalid("expected strings of rank 1, or of rank 2 with one row, got " +
                     Twine(n.rank(x)));
  std::string_view locale = n.s("locale"), action = n.s("case_change_action");
  for (StringRef language : {"tr", "az", "lt"})
    if (StringRef(locale.data(), locale.size()).lower().starts_with(language))
      return n.unsupported("expected a locale of another language, got \"" +
                           Twine(StringRef(locale.data(), locale.size())) +
                           "\", whose letters change their case in a way of their own");
  int64_t change = action == "LOWER" ? 1 : action == "UPPER" ? 2 : 0;
  if (change == 0 && action != "NONE")
    return n.invalid("expected case_change_action LOWER, UPPER or NONE, got \"" +
                     Twine(StringRef(action.data(), action.size())) + "\"");
  SmallVector<int64_t> shape{ShapedType::kDynamic};
  if (n.rank(x) == 2)
    shape.insert(shape.begin(), 1);
  return n.result(
      n.kernelCall("weir_kernel_string_normalize", {RankedTensorType::get(shape, n.element(x))},
                   {x, n.strings(texts(n, "stopwords"))}, {n.i("is_case_sensitive") != 0, change})
          ->getResult(0));
}

LogicalResult tfIdf(NodeImport &n) {
  Value x = n.in(0);
  std::optional<SmallVector<int64_t>> begins = n.is("ngram_counts"),
                                      columns = n.is("ngram_indexes"),
                                      numbers = n.is("pool_int64s");
  if (!x || !begins || !columns)
    return failure();
  Value pool = n.isString(x) ? n.strings(texts(n, "pool_strings"))
                             : n.ints(numbers.value_or(SmallVector<int64_t>()));
  if (!n.isString(x))
    x = n.cast(x, n.b.getI64Type());
  int64_t shortest = n.i("min_gram_length"), longest = n.i("max_gram_length"),
          skips = n.i("max_skip_count"), width = 0;
  // The pool must hold what the lists say of it.
  int64_t size = n.type(pool).getNumElements(), grams = 0, before = 0;
  for (auto [i, begin] : llvm::enumerate(*begins)) {
    int64_t end = i + 1 < begins->size() ? (*begins)[i + 1] : size;
    if (begin < before || end > size || begin > end)
      return n.invalid("found ngram_counts that lie outside of the pool");
    grams += (end - begin) / int64_t(i + 1);
    before = begin;
  }
  for (int64_t column : *columns) {
    if (column < 0 || !n.isStep(column + 1))
      return n.invalid("expected a column from 0 to 2^31 - 2 in ngram_indexes, got " +
                       Twine(column));
    width = std::max(width, column + 1);
  }
  if (shortest < 1 || longest < shortest || skips < 0 || grams > int64_t(columns->size()) ||
      n.rank(x) > 2)
    return n.invalid("found lengths, skips or ngram_indexes that do not go "
                     "with the pool");
  SmallVector<int64_t> shape(n.sizes(x));
  shape.resize(std::max<size_t>(shape.size(), 1));
  shape.back() = width;
  Value counts =
      n.kernelCall("weir_kernel_ngram_counts", {RankedTensorType::get(shape, n.b.getF32Type())},
                   {x, pool, n.ints(*begins), n.ints(*columns)}, {shortest, longest, skips, width})
          ->getResult(0);
  std::string_view mode = n.s("mode");
  if (mode == "TF")
    return n.result(counts);
  // Weights come in the order of n-grams.
  SmallVector<double> weights(width, 1.0);
  std::optional<SmallVector<double>> given = n.fs("weights");
  for (size_t i = 0; given && i < given->size() && i < columns->size(); ++i)
    if ((*columns)[i] >= 0)
      weights[(*columns)[i]] = (*given)[i];
  Value factors = n.floats(weights, n.b.getF32Type());
  if (mode == "IDF")
    counts = n.cast(n.compare("gt", counts, 0), n.b.getF32Type());
  return n.result(n.mul(counts, factors));
}

constexpr OperatorImport table[] = {
    {"", "RegexFullMatch", 20, 0, regexFullMatch}, {"", "StringConcat", 20, 0, concat},
    {"", "StringNormalizer", 10, 0, normalizer},   {"", "StringSplit", 20, 0, split},
    {"", "TfIdfVectorizer", 9, 0, tfIdf},
};

} // namespace

ArrayRef<OperatorImport> weir::onnx::stringImports() { return table; }
