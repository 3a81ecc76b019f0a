//===- EventFile.cpp - what TensorBoard reads -----------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/EventFile.h"

#include "input/event_record.h"
#include "support/histogram.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <unistd.h>

using namespace weir;
using namespace weir::tools;
using rt::HeapList;
using rt::HeapText;

std::unique_ptr<EventFile> EventFile::create(const std::string &folder, std::string &error) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  char host[256] = "localhost";
  gethostname(host, sizeof(host) - 1);
  std::string name = folder + "/events.out.tfevents." +
                     std::to_string(int64_t(std::time(nullptr))) + "." + host + "." +
                     std::to_string(getpid());
  std::FILE *opened = std::fopen(name.c_str(), "wbx");
  if (!opened) {
    error = name + ": " + std::strerror(errno);
    return nullptr;
  }
  std::unique_ptr<EventFile> made(new EventFile(opened, name));
  if (!made->event(0, rt::EventField::Version, rt::eventVersion, sizeof(rt::eventVersion) - 1,
                   error))
    return nullptr;
  return made;
}

EventFile::~EventFile() { std::fclose(file); }

bool EventFile::event(int64_t step, rt::EventField field, const char *data, int64_t bytes,
                      std::string &error) {
  HeapText record, scratch;
  rt::writeEvent(record, scratch, step, field, weir_string{data, bytes});
  bool good = !record.failed() && !scratch.failed() &&
              std::fwrite(record.data(), size_t(record.size()), 1, file) == 1 &&
              std::fflush(file) == 0;
  if (!good)
    error = name + ": " + std::strerror(errno);
  return good;
}

/// A Summary of one Value, whose field `field` is `contents` as it is written.
static void writeSummary(HeapText &summary, const std::string &tag, const HeapText &contents) {
  HeapText value;
  rt::writeBytes(value, 1, weir_string{tag.data(), int64_t(tag.size())});
  value << contents.view();
  rt::writeBytes(summary, 1, value.view());
}

bool EventFile::scalar(int64_t step, const std::string &tag, double value, std::string &error) {
  HeapText contents, summary;
  auto simple = static_cast<float>(value);
  rt::writeVarint(contents, 2 << 3 | 5);
  contents.append(reinterpret_cast<const char *>(&simple), sizeof(simple));
  writeSummary(summary, tag, contents);
  return event(step, rt::EventField::Summary, summary.data(), summary.size(), error);
}

bool EventFile::histogram(int64_t step, const std::string &tag, const HostTensor &tensor,
                          std::string &error) {
  HeapList<double> limits, counts;
  rt::Histogram histogram(limits, counts);
  for (int64_t i = 0; i < tensor.count() && !histogram.failed(); ++i)
    if (double value = elementAsDouble(tensor, i); std::isfinite(value))
      histogram.add(value);
  if (histogram.failed()) {
    error = name + ": no memory for a histogram";
    return false;
  }
  HeapText body, contents, summary;
  histogram.write(body);
  rt::writeBytes(contents, 5, body.view());
  writeSummary(summary, tag, contents);
  return event(step, rt::EventField::Summary, summary.data(), summary.size(), error);
}

bool EventFile::runMetadata(int64_t step, const std::string &tag, const std::string &metadata,
                            std::string &error) {
  HeapText tagged;
  rt::writeBytes(tagged, 1, weir_string{tag.data(), int64_t(tag.size())});
  rt::writeBytes(tagged, 2, weir_string{metadata.data(), int64_t(metadata.size())});
  return event(step, rt::EventField::RunMetadata, tagged.data(), tagged.size(), error);
}

bool EventFile::graph(const std::string &graphDef, std::string &error) {
  return event(0, rt::EventField::Graph, graphDef.data(), static_cast<int64_t>(graphDef.size()),
               error);
}
