//===- DeviceName.cpp - TensorFlow's device names ----------------*- C++
//-*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/DeviceName.h"
#include "passes/analysis/DeviceKind.h"
#include "llvm/ADT/SmallVector.h"

using namespace weir;

/// Reads a number or "*" into `into`; false for anything else.
static bool readNumber(llvm::StringRef text, std::optional<int64_t> &into) {
  if (text == "*")
    return true;
  int64_t value;
  if (text.getAsInteger(10, value) || value < 0)
    return false;
  into = value;
  return true;
}

std::optional<DeviceName> DeviceName::parse(llvm::StringRef text) {
  DeviceName name;
  if (!text.consume_front("/"))
    return std::nullopt;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, '/');
  for (llvm::StringRef part : parts) {
    auto [key, value] = part.split(':');
    std::string lower = key.lower();
    bool ok = true;
    if (lower == "job") {
      if (value != "*")
        name.job = value.str();
      ok = !value.empty();
    } else if (lower == "replica") {
      ok = readNumber(value, name.replica);
    } else if (lower == "task") {
      ok = readNumber(value, name.task);
    } else if (lower == "device") {
      auto [type, id] = value.split(':');
      if (type != "*")
        name.type = type.upper();
      ok = !type.empty() && (id.empty() || readNumber(id, name.id));
    } else if (lower == "cpu" || findDeviceKind(key.upper())) {
      name.type = key.upper();
      ok = value.empty() || readNumber(value, name.id);
    } else {
      ok = false;
    }
    if (!ok)
      return std::nullopt;
  }
  return name;
}

DeviceName DeviceName::cpu(int64_t id) {
  DeviceName name;
  name.job = "localhost";
  name.replica = name.task = 0;
  name.type = "CPU";
  name.id = id;
  return name;
}

std::string DeviceName::str() const {
  std::string text;
  auto add = [&](const char *key, const std::string &value) {
    text += std::string("/") + key + ":" + value;
  };
  if (job)
    add("job", *job);
  if (replica)
    add("replica", std::to_string(*replica));
  if (task)
    add("task", std::to_string(*task));
  if (type)
    add("device", *type + ":" + (id ? std::to_string(*id) : "*"));
  return text;
}

/// Applies `visit` to each pair of parts; false as soon as it does.
template <typename Visit> static bool forEachPart(DeviceName &a, const DeviceName &b, Visit visit) {
  return visit(a.job, b.job) && visit(a.replica, b.replica) && visit(a.task, b.task) &&
         visit(a.type, b.type) && visit(a.id, b.id);
}

bool DeviceName::matches(const DeviceName &other) const {
  DeviceName copy = *this;
  return forEachPart(copy, other,
                     [](auto &mine, const auto &theirs) { return !mine || mine == theirs; });
}

std::optional<DeviceName> DeviceName::intersect(const DeviceName &other) const {
  DeviceName both = completedBy(other);
  if (!other.matches(both))
    return std::nullopt;
  return both;
}

DeviceName DeviceName::completedBy(const DeviceName &other) const {
  DeviceName name = *this;
  forEachPart(name, other, [](auto &mine, const auto &theirs) {
    if (!mine)
      mine = theirs;
    return true;
  });
  return name;
}
