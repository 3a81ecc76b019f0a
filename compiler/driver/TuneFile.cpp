//===- TuneFile.cpp - what --tune found, as a file ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/TuneFile.h"

#include "compiler/driver/Messages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace weir;
using namespace weir::driver;
namespace json = llvm::json;

/// Choices of another one may mean something else.
static constexpr int64_t formatVersion = 1;
static constexpr const char *versionKey = "weir_tune";

static std::string quoted(llvm::StringRef text) { return ("\"" + text + "\"").str(); }

/// The first key that is none of `known`.
static std::string unknownKey(const json::Object &object,
                              std::initializer_list<llvm::StringRef> known) {
  std::vector<std::string> keys;
  for (const auto &[key, value] : object)
    if (!llvm::is_contained(known, llvm::StringRef(key)))
      keys.push_back(llvm::StringRef(key).str());
  return keys.empty() ? "" : *llvm::min_element(keys);
}

bool TuneFile::read(const std::string &path, DiagnosticSink &sink) {
  auto refuse = [&](const llvm::Twine &message) {
    driver::report(sink, "W0131", path, message);
    return false;
  };
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return refuse("cannot be read: " + buffer.getError().message());
  llvm::Expected<json::Value> value = json::parse((*buffer)->getBuffer());
  if (!value)
    return refuse("is no JSON: " + llvm::toString(value.takeError()));
  const json::Object *root = value->getAsObject();
  auto version = root ? root->getInteger(versionKey) : std::nullopt;
  if (!version)
    return refuse(llvm::Twine("found no \"") + versionKey +
                  "\" at the top; possible: a file that --tune wrote");
  if (*version != formatVersion)
    return refuse(llvm::Twine("found \"") + versionKey + "\": " + llvm::Twine(*version) +
                  "; possible: " + llvm::Twine(formatVersion) + "; tune again into a new file");
  if (std::string key = unknownKey(*root, {versionKey, "kernels"}); !key.empty())
    return refuse("found " + quoted(key) + "; possible: " + versionKey + ", kernels");
  const json::Array *kernels = root->getArray("kernels");
  if (!kernels)
    return refuse("found no list \"kernels\"");

  for (auto [i, element] : llvm::enumerate(*kernels)) {
    std::string where = "kernel " + std::to_string(i + 1);
    const json::Object *object = element.getAsObject();
    auto processor = object ? object->getString("processor") : std::nullopt;
    auto kernel = object ? object->getString("kernel") : std::nullopt;
    auto text = object ? object->getString("choice") : std::nullopt;
    if (!processor || !kernel || !text || processor->empty() || kernel->empty())
      return refuse("found " + where +
                    " without its texts \"processor\", \"kernel\" and "
                    "\"choice\"");
    std::string key = unknownKey(*object, {"processor", "kernel", "choice", "us", "us_before"});
    if (!key.empty())
      return refuse("found " + quoted(key) + " of " + where +
                    "; possible: processor, kernel, choice, us, us_before");
    Entry entry;
    std::optional<TileChoice> choice = TileChoice::parse(*text);
    if (!choice)
      return refuse(
          "found the choice " + quoted(*text) + " of " + where +
          "; possible: direct, winograd or winograd4, tile=ROWSxVECTORS, part=N, depth=N, "
          "ahead=0 or 1");
    entry.choice = *choice;
    for (auto [name, into] :
         {std::pair("us", &entry.microseconds), {"us_before", &entry.microsecondsBefore}}) {
      const json::Value *number = object->get(name);
      auto found = number ? number->getAsNumber() : 0;
      if (!found || !(*found >= 0 && *found < 1e15))
        return refuse(llvm::Twine("found \"") + name + "\" of " + where +
                      "; possible: microseconds");
      *into = *found;
    }
    if (!of(processor->str()).try_emplace(kernel->str(), entry).second)
      return refuse("found " + where + " twice: " + quoted(*kernel) + " for " + quoted(*processor));
  }
  return true;
}

std::string TuneFile::text() const {
  std::string out;
  llvm::raw_string_ostream os(out);
  json::OStream json(os, 1);
  auto rounded = [](double microseconds) { return std::round(microseconds * 10) / 10; };
  json.object([&] {
    json.attribute(versionKey, formatVersion);
    json.attributeArray("kernels", [&] {
      for (const auto &[processor, kernels] : processors)
        for (const auto &[kernel, entry] : kernels)
          json.object([&, &processor = processor, &kernel = kernel, &entry = entry] {
            json.attribute("processor", processor);
            json.attribute("kernel", kernel);
            json.attribute("choice", entry.choice.str());
            if (!entry.microseconds)
              return;
            json.attribute("us", rounded(entry.microseconds));
            json.attribute("us_before", rounded(entry.microsecondsBefore));
          });
    });
  });
  return out + "\n";
}

std::vector<std::string> TuneFile::names() const {
  std::vector<std::string> all;
  for (const auto &[processor, kernels] : processors)
    all.push_back(processor);
  return all;
}
