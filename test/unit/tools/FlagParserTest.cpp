//===- FlagParserTest.cpp -------------------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/FlagParser.h"
#include "compiler/frontend/EntrySpec.h"
#include "tools/common/ModelFlags.h"

#include <gtest/gtest.h>

using namespace weir;
using namespace weir::tools;

namespace {

/// A parser with one flag of each kind.
struct Example {
  FlagParser parser{"tool", "FILE", "Does things."};
  bool plain = false;
  std::string text, optional = "unset", level;
  int64_t number = 0;
  std::vector<std::string> files;
  int status = -1;

  Example() {
    parser.positionals("FILE", "files", 1, 2, files);
    parser.group("First");
    parser.flag("-v, --verbose", "says more", plain);
    parser.text("-o", "OUT", "output", text);
    parser.number("--jobs, -j", "N", "jobs", number, 1, 64);
    parser.group("Second");
    parser.optionalValue("--report", "DIR", "report", [this](std::string_view value) {
      optional = value;
      return std::string();
    });
    parser.joined("-O", "0..3", "level", [this](std::string_view value) {
      level = value;
      return std::string();
    });
    parser.exitCode(3, "is odd");
  }

  bool parse(std::vector<const char *> arguments) {
    arguments.insert(arguments.begin(), "tool");
    return parser.parse(static_cast<int>(arguments.size()), arguments.data(), status);
  }
  std::string errors(std::vector<const char *> arguments) {
    testing::internal::CaptureStderr();
    bool good = parse(std::move(arguments));
    std::string text = testing::internal::GetCapturedStderr();
    EXPECT_FALSE(good);
    EXPECT_EQ(status, 1);
    return text;
  }
};

TEST(FlagParser, TakesValuesInEveryForm) {
  Example e;
  ASSERT_TRUE(e.parse({"a", "-oout", "-j", "3", "-O2", "--report", "b"}));
  EXPECT_EQ(e.text, "out");
  EXPECT_EQ(e.number, 3);
  EXPECT_EQ(e.level, "2");
  EXPECT_EQ(e.optional, "");
  EXPECT_EQ(e.files, (std::vector<std::string>{"a", "b"}));
  Example f;
  ASSERT_TRUE(f.parse({"--jobs=7", "-o", "x", "--report=dir", "--", "-v"}));
  EXPECT_EQ(f.number, 7);
  EXPECT_EQ(f.optional, "dir");
  EXPECT_FALSE(f.plain);
  EXPECT_EQ(f.files, (std::vector<std::string>{"-v"}));
}

TEST(FlagParser, SuggestsTheNearestFlag) {
  Example e;
  EXPECT_EQ(e.errors({"a", "--verbos"}), "tool: error: unknown flag '--verbos'; did you mean "
                                         "'--verbose'?\n");
  Example f;
  EXPECT_EQ(f.errors({"a", "--something-else"}), "tool: error: unknown flag '--something-else'\n"
                                                 "  note: tool --help lists all flags\n");
}

TEST(FlagParser, RefusesInOneLine) {
  EXPECT_EQ(Example().errors({"a", "--jobs=0"}),
            "tool: error: --jobs=0 is no whole number from 1 to 64\n");
  EXPECT_EQ(Example().errors({"a", "-o"}), "tool: error: flag '-o' needs a value (OUT)\n");
  EXPECT_EQ(Example().errors({"a", "--verbose=1"}),
            "tool: error: flag '--verbose' takes no value\n");
  EXPECT_EQ(Example().errors({}), "tool: error: no FILE given\n"
                                  "  note: usage: tool FILE\n");
  EXPECT_EQ(Example().errors({"a", "b", "c"}), "tool: error: unexpected argument 'c'\n"
                                               "  note: usage: tool FILE\n");
}

TEST(FlagParser, HelpHasGroupsAndExitCodes) {
  std::string help = Example().parser.helpText();
  size_t first = help.find("First:"), second = help.find("Second:"),
         codes = help.find("Exit codes:");
  EXPECT_LT(first, second);
  EXPECT_LT(second, codes);
  EXPECT_NE(help.find("  -v, --verbose"), std::string::npos);
  EXPECT_NE(help.find("  --report[=DIR]"), std::string::npos);
  EXPECT_NE(help.find("  -O0..3"), std::string::npos);
  EXPECT_NE(help.find("is odd", codes), std::string::npos);
}

TEST(FlagParser, HelpCountsCharactersNotBytes) {
  FlagParser parser("tool", "", "");
  std::string text;
  parser.text("--tags", "A…", "eins", text);
  parser.text("--test", "A.", "zwei", text);
  std::string help = parser.helpText();
  size_t first = help.find("  --tags"), second = help.find("  --test");
  // The sign takes three bytes and one column.
  EXPECT_EQ(help.find("eins") - first, help.find("zwei") - second + 2);
}

TEST(FlagParser, NearestIsNearEnough) {
  EXPECT_EQ(nearestTo("conv_1", {"conv1", "pool1"}), "conv1");
  EXPECT_EQ(nearestTo("xy", {"conv1"}), "");
  // Of two letters only the case may be wrong.
  EXPECT_EQ(nearestTo("-V", {"-o", "-v"}), "-v");
  EXPECT_EQ(nearestTo("-x", {"-o", "-v"}), "");
}

TEST(FlagParser, Sizes) {
  EXPECT_EQ(parseSize("4096"), 4096);
  EXPECT_EQ(parseSize("1.5K"), 1536);
  EXPECT_EQ(parseSize("2GiB"), int64_t(2) << 30);
  EXPECT_EQ(parseSize("-1"), -1);
  EXPECT_EQ(parseSize("1X"), -1);
  EXPECT_EQ(parseSize("1e30"), -1);
}

TEST(EntrySpecs, FeedsInFull) {
  FeedSpec feed;
  EXPECT_EQ(parseFeed("scope/x:1=input:2x?x3:f16", feed), "");
  EXPECT_EQ(feed.value, "scope/x:1");
  EXPECT_EQ(feed.name, "input");
  EXPECT_EQ(feed.shape, (ShapeSpec{2, -1, 3}));
  EXPECT_EQ(feed.dtype, "f16");
}

TEST(EntrySpecs, PartsMayBeLeftOut) {
  FeedSpec feed;
  EXPECT_EQ(parseFeed("x", feed), "");
  EXPECT_EQ(feed.value, "x");
  feed = {};
  EXPECT_EQ(parseFeed("x:0:scalar", feed), "");
  EXPECT_EQ(feed.value, "x:0");
  EXPECT_EQ(feed.shape, ShapeSpec());
  feed = {};
  EXPECT_EQ(parseFeed("x:0:f32", feed), "");
  EXPECT_FALSE(feed.shape);
  EXPECT_EQ(feed.dtype, "f32");
}

TEST(EntrySpecs, QuotedNamesHoldAnything) {
  FeedSpec feed;
  EXPECT_EQ(parseFeed("\"a:b=c\":2=\"d:e\":4", feed), "");
  EXPECT_EQ(feed.value, "a:b=c:2");
  EXPECT_EQ(feed.name, "d:e");
  EXPECT_EQ(feed.shape, ShapeSpec{4});
  FetchSpec fetch;
  EXPECT_EQ(parseFetch("\"x:y\"=z", fetch), "");
  EXPECT_EQ(fetch.value, "x:y");
  EXPECT_EQ(fetch.name, "z");
  EXPECT_FALSE(fetch.shape);
  EXPECT_EQ(parseFetch("x:1:?x3", fetch), "");
  EXPECT_EQ(fetch.value, "x:1");
  EXPECT_EQ(fetch.shape, (ShapeSpec{-1, 3}));
}

TEST(EntrySpecs, WhatIsWrongIsSaid) {
  FeedSpec feed;
  EXPECT_NE(parseFeed("", feed), "");
  EXPECT_NE(parseFeed("x:0:2xf", feed), "");
  EXPECT_NE(parseFeed("x:0=", feed), "");
  EXPECT_NE(parseFeed("\"x", feed), "");
  FetchSpec fetch;
  EXPECT_NE(parseFetch("x:0:3f", fetch), "");
  EXPECT_NE(parseFetch("x:0:3:f32", fetch), "");
  EntrySpec entry;
  EXPECT_EQ(parseEntry("main=serving_default", entry), "");
  EXPECT_EQ(entry.signature, "serving_default");
  EXPECT_NE(parseEntry("main:", entry), "");
  std::string name;
  DimBinding binding;
  EXPECT_EQ(parseDimBinding("N=1..64", name, binding), "");
  EXPECT_EQ(name, "N");
  EXPECT_EQ(binding.lower, 1);
  EXPECT_EQ(binding.upper, 64);
  EXPECT_EQ(parseDimBinding("N=2..", name, binding), "");
  EXPECT_EQ(binding.upper, -1);
  EXPECT_NE(parseDimBinding("N=5..1", name, binding), "");
  EXPECT_NE(parseDimBinding("N=-1", name, binding), "");
  EXPECT_NE(parseDimBinding("N", name, binding), "");
  ShapeSpec shape;
  EXPECT_EQ(parseShapeBinding("x=1x3x224x224", name, shape), "");
  EXPECT_EQ(shape, (ShapeSpec{1, 3, 224, 224}));
  EXPECT_NE(parseShapeBinding("x=1x3x", name, shape), "");
}

TEST(EntrySpecs, TypesGoByWeirsNames) {
  EXPECT_EQ(typeNameOf("float32"), "f32");
  EXPECT_EQ(typeNameOf("ui8"), "u8");
  EXPECT_EQ(typeNameOf("f16"), "f16");
  EXPECT_EQ(typeNameOf("f33"), "");
  EXPECT_EQ(typeNameOf(""), "");
}

TEST(ModelFlags, FeedsBelongToTheEntryBeforeThem) {
  driver::Options options;
  FlagParser parser("tool", "", "");
  addEntryFlags(parser, options, {{"--pages", "N", "pages of a book to read", "book"}});
  addCodeFlags(parser, options,
               {{"TOY", "--toy", "A[,B]", "what toys to make code for", "A", "WEIR_TOY",
                 "--toy-profile", "toys to tune for", ""}});
  const char *arguments[] = {"tool",      "--entry=a",         "--feed=x:0", "--fetch=y",
                             "--entry=b", "--fetch=z:1",       "-O1",        "--sanitize=address",
                             "--toy=B",   "--toy-profile=f,g", "--pages=1,2"};
  int status;
  ASSERT_TRUE(parser.parse(11, arguments, status));
  EXPECT_EQ(options.frontendFlags["--pages"], (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(options.deviceTargets["TOY"], "B");
  EXPECT_EQ(options.deviceProfiles["TOY"], (std::vector<std::string>{"f", "g"}));
  ASSERT_EQ(options.entries.size(), 2u);
  EXPECT_EQ(options.entries[0].feeds.size(), 1u);
  EXPECT_EQ(options.entries[0].fetches.size(), 1u);
  EXPECT_EQ(options.entries[1].name, "b");
  EXPECT_EQ(options.entries[1].feeds.size(), 0u);
  EXPECT_EQ(options.optLevel, 1);
  EXPECT_TRUE(options.sanitizeAddress);
}

} // namespace
