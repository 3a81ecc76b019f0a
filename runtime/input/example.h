//===- example.h - features out of serialized examples ----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tf.train.Example and SequenceExample, read on the wire
// (tensorflow/core/example/{example,feature}.proto):
//   Example          1: Features
//   SequenceExample  1: Features, 2: FeatureLists
//   Features         1: map of a name to a Feature
//   FeatureLists     1: map of a name to a FeatureList
//   FeatureList      1: Feature…
//   Feature          1: BytesList, 2: FloatList, 3: Int64List; each 1: values
//   an entry of a map  1: name, 2: value
// What is accepted is what TensorFlow's own readers accept
// (core/util/example_proto_fast_parsing.cc).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_INPUT_EXAMPLE_H
#define WEIR_RUNTIME_INPUT_EXAMPLE_H

#include "kernels/string_support.h"
#include "support/wire_format.h"

namespace weir::rt {

/// A Feature: a list of one type.
struct Feature {
  static constexpr int32_t none = -1, unknown = -2;
  int32_t dtype = none; ///< WEIR_STRING, WEIR_F32, WEIR_I64; `none`: holds nothing
  weir_string list = {};

  explicit Feature(const weir_string &message);
  /// Appends the values, strings as they lie in the message. False: the list is
  /// broken, or there is no memory.
  bool append(Growing &values, int64_t *count) const;
};

/// One feature of all examples, as it is asked for and as it is found.
struct Column {
  enum class Kind : uint8_t { Sparse, Dense, Ragged };

  Column(weir_context *ctx) : values(ctx), counts(ctx), frames(ctx) {}

  weir_string key;
  Kind kind;
  int32_t dtype;
  bool isVariable = false; ///< dense, with an open first dimension
  bool mayMiss = false;    ///< a list that need not be there
  int32_t rank = 0;
  const int64_t *shape = nullptr;        ///< dense
  int64_t stride = 1;                    ///< elements of it, without an open dimension
  const weir_tensor *standard = nullptr; ///< default; without elements: required

  Growing values;
  List<int64_t> counts; ///< of each example, or of each frame
  List<int64_t> frames; ///< of each example; lists only
  int64_t last = -1;    ///< the example it was found in last

  int64_t size() const { return values.size() / weir_dtype_size(dtype); }
};

/// Columns, found by their keys.
class Columns {
public:
  Columns(weir_context *ctx) : ctx(ctx) {}
  ~Columns();
  Columns(const Columns &) = delete;

  /// Room for `count` columns. False: no memory.
  bool init(int64_t count);
  /// Puts those that have their keys into the index. False: no memory.
  bool index();
  Column &operator[](int64_t i) { return columns[i]; }
  int64_t size() const { return count; }

  /// The next column of a key behind place `at`, which begins as its hash; null:
  /// there is none more.
  Column *find(const weir_string &key, uint64_t *at);

private:
  weir_context *const ctx;
  Column *columns = nullptr;
  int64_t count = 0;
  int32_t *table = nullptr;
  uint64_t mask = 0;
};

uint64_t hashKey(const weir_string &key);

/// The entries of a map, in the message's order.
struct Entry {
  weir_string key, value;
};
/// Appends the entries of a map. False: it is broken, or there is no memory.
bool readEntries(const weir_string &map, List<Entry> &entries);

/// Sets shape and default of a dense column from its attributes (rank, sizes);
/// returns what is behind them.
const int64_t *describeDense(Column &column, const int64_t *attributes);

const char *typeName(int32_t dtype);
/// "[2,3]"
Text &operator<<(Text &text, const Column &column);

// Results, of examples that are `batch` many (negative: one, without the batch's
// dimension). False: no memory.
bool giveSparse(weir_context *ctx, const Column &column, int64_t batch, weir_tensor &indices,
                weir_tensor &values, weir_tensor &shape);
bool giveDense(weir_context *ctx, const Column &column, int64_t batch, weir_tensor &result);
bool giveRagged(weir_context *ctx, const Column &column, int64_t batch, weir_tensor &values,
                weir_tensor &splits);
bool giveValues(weir_context *ctx, const Column &column, weir_tensor &result);
/// Row splits of counts.
bool giveSplits(weir_context *ctx, const List<int64_t> &counts, weir_tensor &splits);
/// `count` elements of the column's default, or zeros where it has none.
void fillWith(const Column &column, uint8_t *to, int64_t count);

} // namespace weir::rt

#endif // WEIR_RUNTIME_INPUT_EXAMPLE_H
