//===- EntrySpecs.h - feeds and fetches on a command line -------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The grammar of weirc's entry flags:
//   --entry=NAME[=signature]
//   --feed=node:port[=name][:2x?x3[:f32]]
//   --fetch=node:port[=name]
//   --shape=name=1x3x224x224      --dim=N=5      --dim=N=1..64
// `:port` may be left out (then it is 0, or the name is an ONNX value's). A
// name that holds ':' or '=' is put in double quotes, as in
// --feed="a:b":0="c=d". A scalar's shape is written `scalar`.
//
// Functions return what is wrong, or "".
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_ENTRYSPECS_H
#define WEIR_TOOLS_COMMON_ENTRYSPECS_H

#include "compiler/driver/Options.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::tools {

std::string parseEntry(std::string_view text, driver::EntrySpec &entry);
std::string parseFeed(std::string_view text, driver::FeedSpec &feed);
std::string parseFetch(std::string_view text, driver::FetchSpec &fetch);

/// "2x?x3", "scalar": -1 for a size that is not fixed.
bool parseShape(std::string_view text, std::vector<int64_t> &dims);

using Binding = std::pair<std::string, std::string>;

/// `name=1x3`: name and shape, as Options::shapes has them.
std::string parseShapeBinding(std::string_view text, Binding &binding);
/// `N=5`, `N=1..64`: name and range, as Options::dims has them.
std::string parseDimBinding(std::string_view text, Binding &binding);

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_ENTRYSPECS_H
