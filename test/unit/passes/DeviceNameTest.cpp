//===- DeviceNameTest.cpp - TensorFlow's device names ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/DeviceName.h"
#include "passes/analysis/DeviceKind.h"

#include <gtest/gtest.h>

using weir::DeviceName;

namespace {

std::string read(llvm::StringRef text) {
  std::optional<DeviceName> name = DeviceName::parse(text);
  return name ? name->str() : "?";
}

std::string both(llvm::StringRef a, llvm::StringRef b) {
  auto met = DeviceName::parse(a)->intersect(*DeviceName::parse(b));
  return met ? met->str() : "?";
}

TEST(DeviceNameTest, AnyPartMayBeMissing) {
  for (const char *text : {"/job:worker/replica:0/task:1/device:CPU:0", "/job:worker", "/task:3",
                           "/replica:2/task:0", "/device:GPU:1", "/job:a/device:CPU:7"})
    EXPECT_EQ(read(text), text);
  EXPECT_FALSE(DeviceName::parse("/task:3")->isComplete());
  EXPECT_TRUE(DeviceName::parse("/job:w/replica:0/task:1/device:CPU:0")->isComplete());
}

TEST(DeviceNameTest, AStarStandsForAny) {
  EXPECT_EQ(read("/job:*/replica:*/task:*/device:*:*"), "");
  EXPECT_EQ(read("/device:CPU:*"), "/device:CPU:*");
  EXPECT_EQ(read("/device:CPU"), "/device:CPU:*");
}

/// Of a type that older names may have.
struct Known : weir::DeviceKind {
  explicit Known(llvm::StringRef type) : name(type) {}
  llvm::StringRef type() const override { return name; }
  std::string whyNot(mlir::Operation *) const override { return ""; }
  std::string name;
};

TEST(DeviceNameTest, OlderFormsOfKnownKindsAreTheSame) {
  static const Known kind("GPU"), same("GPU");
  EXPECT_TRUE(weir::registerDeviceKind(kind));
  EXPECT_FALSE(weir::registerDeviceKind(same));
  EXPECT_EQ(weir::findDeviceKind("GPU"), &kind);
  EXPECT_EQ(weir::findDeviceKind("gpu"), nullptr);
  EXPECT_EQ(read("/cpu:0"), "/device:CPU:0");
  EXPECT_EQ(read("/GPU:2"), "/device:GPU:2");
  EXPECT_EQ(read("/gpu:*"), "/device:GPU:*");
  EXPECT_EQ(read("/job:w/task:1/gpu:0"), "/job:w/task:1/device:GPU:0");
  EXPECT_EQ(read("/device:gpu:0"), "/device:GPU:0");
}

TEST(DeviceNameTest, WhatIsNoNameIsRefused) {
  for (const char *text : {"", "cpu:0", "/cpu:x", "/cpu:-1", "/job:", "/task:a", "/disk:0",
                           "/device:", "//", "/job:w/"})
    EXPECT_EQ(read(text), "?") << text;
}

TEST(DeviceNameTest, NamesMeetPartByPart) {
  EXPECT_EQ(both("/job:w", "/cpu:1"), "/job:w/device:CPU:1");
  EXPECT_EQ(both("/cpu:*", "/cpu:1"), "/device:CPU:1");
  EXPECT_EQ(both("/task:0", "/task:1"), "?");
  EXPECT_EQ(both("/device:GPU:0", "/cpu:0"), "?");
}

TEST(DeviceNameTest, ANameMatchesWhatHasItsParts) {
  DeviceName whole = *DeviceName::parse("/job:w/replica:0/task:1/device:CPU:0");
  EXPECT_TRUE(DeviceName::parse("/task:1/cpu:*")->matches(whole));
  EXPECT_FALSE(DeviceName::parse("/task:0")->matches(whole));
  EXPECT_TRUE(DeviceName().matches(whole));
}

} // namespace
