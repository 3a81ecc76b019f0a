//===- ModelFlags.h - weirc's flags, for all tools that compile -*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_COMMON_MODELFLAGS_H
#define WEIR_TOOLS_COMMON_MODELFLAGS_H

#include "compiler/driver/DeviceFlags.h"
#include "compiler/driver/Formats.h"
#include "compiler/driver/Options.h"
#include "tools/common/FlagParser.h"

namespace weir::tools {

/// Declares the flags that say what of a model is wanted: --entry, --feed,
/// --fetch, --shape, --dim, and those of formats (driver::frontendFlags()). `options` must
/// outlive the parser.
void addEntryFlags(FlagParser &parser, driver::Options &options,
                   const std::vector<FrontendFlag> &formats);

/// Declares --train and what goes with it.
void addTrainingFlags(FlagParser &parser, driver::Options &options);

/// Declares those that say how code is made: --cpu, -O, --precision … , and those
/// of kinds of devices (driver::deviceFlags()).
void addCodeFlags(FlagParser &parser, driver::Options &options,
                  const std::vector<driver::DeviceFlag> &kinds);

/// -Werror and -Wno-W0605.
void addWarningFlags(FlagParser &parser, driver::Options &options);

/// Declares those that show what the compiler does: --report, --dump-ir … .
void addInspectionFlags(FlagParser &parser, driver::Options &options);

/// Faults that tests plant.
void addTestFlags(FlagParser &parser, driver::Options &options);

/// A setter that appends names between commas to a list.
FlagParser::Setter listSetter(std::vector<std::string> &list);

/// A setter that stores a number into an int option.
FlagParser::Setter intSetter(int &target, int lowest, int highest);

} // namespace weir::tools

#endif // WEIR_TOOLS_COMMON_MODELFLAGS_H
