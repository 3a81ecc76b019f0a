//===- EntrySpec.h - what a program computes of a model ---------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Entries, their feeds and fetches, and the sizes that open dimensions get: one
// structure from the command line to the importers, of every format. Knows no MLIR.
// The text of each is that of weirc's flags:
//   --entry=NAME[=signature]
//   --feed=node:port[=name][:2x?x3[:f32]]
//   --fetch=node:port[=name][:2x?x3]
//   --shape=name=1x3x224x224      --dim=N=5      --dim=N=1..64
// `:port` may be left out (then it is 0, or the name is an ONNX value's). A
// name that holds ':' or '=' is put in double quotes, as in
// --feed="a:b":0="c=d". A scalar's shape is written `scalar`.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_FRONTEND_ENTRYSPEC_H
#define WEIR_COMPILER_FRONTEND_ENTRYSPEC_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// Sizes of dimensions; -1: not fixed.
using ShapeSpec = std::vector<int64_t>;

/// A value of the graph that the caller provides.
struct FeedSpec {
  std::string value; ///< "node:port", or an ONNX value's name
  std::string name;  ///< what users call it; empty: derived from `value`
  std::optional<ShapeSpec> shape = std::nullopt; ///< overrides the shape in the file
  std::string dtype = {};                        ///< typeNameOf's; empty: as in the file
};

/// A value of the graph that the caller gets.
struct FetchSpec {
  std::string value;
  std::string name;
  /// What the file does not say: how many dimensions there are.
  std::optional<ShapeSpec> shape = std::nullopt;
};

/// A function of the compiled program. Without feeds and fetches: those of the
/// model, or of its signature.
struct EntrySpec {
  std::string name = {};      ///< empty: the format's default
  std::string signature = {}; ///< where a file offers several
  std::vector<FeedSpec> feeds = {};
  std::vector<FetchSpec> fetches = {};
  /// Fetched beside these, or beside those of the model, unless there is one of the
  /// name: what training needs (dialects/weir/Training.h).
  std::vector<FetchSpec> further = {};
};

/// The sizes that a named dimension may have; lower = upper fixes it.
struct DimBinding {
  int64_t lower = 0;
  int64_t upper = -1; ///< -1: no bound
};

/// A flag that a format has beside those of all (Frontend::flags), and the values that
/// it was given, by the flag's name.
struct FrontendFlag {
  std::string flag;  ///< "--tags"
  std::string value; ///< how help names it
  std::string help;
  std::string of; ///< what has it, for who gives it to something else: "SavedModel"
};
using FrontendFlagValues = std::map<std::string, std::vector<std::string>>;

/// The values of a flag; none where it was not given.
std::vector<std::string> valuesOf(const FrontendFlagValues &flags, const std::string &flag);

// Each returns what is wrong with the text, as the end of a sentence that begins with
// it; "" where nothing is.
std::string parseEntry(std::string_view text, EntrySpec &entry);
std::string parseFeed(std::string_view text, FeedSpec &feed);
std::string parseFetch(std::string_view text, FetchSpec &fetch);
/// `name=1x3`, where `name` may hold a port.
std::string parseShapeBinding(std::string_view text, std::string &name, ShapeSpec &shape);
/// `N=5`, `N=1..64`, `N=1..`.
std::string parseDimBinding(std::string_view text, std::string &name, DimBinding &binding);

/// "2x?x3", "scalar". Nothing where it is malformed.
std::optional<ShapeSpec> parseShape(std::string_view text);

/// The name that weir has for an element type, "f32", "u8", "string" …, by that or by
/// NumPy's and TensorFlow's ("float32", "half"; "qint8" is an i8 here). Empty: none.
std::string_view typeNameOf(std::string_view name);

} // namespace weir

#endif // WEIR_COMPILER_FRONTEND_ENTRYSPEC_H
