//===- BackendsTest.cpp - what holds of every kind of device --------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The host's kind is asked as all others are.

#include "compiler/codegen/cpu/schedule/Strategy.h"
#include "compiler/driver/DeviceFlags.h"
#include "compiler/driver/DeviceKinds.h"
#include "passes/analysis/DeviceTraits.h"
#include "llvm/ADT/StringSet.h"

#include <gtest/gtest.h>

using namespace weir;

TEST(Backends, AreKnownByTypeAndFlag) {
  llvm::StringSet<> types, flags;
  for (const DeviceBackend *backend : driver::allDeviceBackends()) {
    EXPECT_EQ(backend->type().upper(), backend->type().str());
    EXPECT_TRUE(types.insert(backend->type()).second) << backend->type().str();
    EXPECT_TRUE(backend->flag().starts_with("--")) << backend->flag().str();
    EXPECT_TRUE(flags.insert(backend->flag()).second) << backend->flag().str();
    EXPECT_EQ(findDeviceKind(backend->type()), backend);
  }
}

// Of kinds whose back ends nothing has registered yet: as programs without the compiler have them.
static const std::vector<DeviceFlag> known = driver::deviceFlags();

TEST(Backends, HaveTheFlagsThatProgramsKnow) {
  size_t found = 0;
  for (const DeviceBackend *backend : driver::acceleratorBackends()) {
    if (backend->type() == "TOY") // of this program alone
      continue;
    auto same =
        llvm::find_if(known, [&](const DeviceFlag &flag) { return flag.type == backend->type(); });
    ASSERT_NE(same, known.end()) << backend->type().str();
    EXPECT_EQ(same->flag, backend->flag());
    EXPECT_EQ(same->variable, backend->variable());
    EXPECT_EQ(same->usualTargets, backend->usualTargets());
    EXPECT_EQ(same->profileFlag, backend->profiles().flag);
    ++found;
  }
  EXPECT_EQ(found, known.size());
}

TEST(Backends, TakeTheirUsualTargets) {
  for (const DeviceBackend *backend : driver::allDeviceBackends()) {
    EXPECT_EQ(backend->possibleInsteadOf(backend->usualTargets()), "") << backend->type().str();
    EXPECT_GT(backend->usual().flops, 0);
    EXPECT_GT(backend->usual().bandwidth, 0);
  }
}

TEST(Backends, HaveOneHostThatComputesKernels) {
  int hosts = 0;
  for (const DeviceBackend *backend : driver::allDeviceBackends()) {
    hosts += backend->isHost();
    // A host's name is no accelerator's.
    std::optional<DeviceName> name =
        DeviceName::parse(("/job:j/task:0/device:" + backend->type() + ":0").str());
    ASSERT_TRUE(name);
    EXPECT_EQ(kindOf(*name), backend->isHost() ? nullptr : backend);
  }
  EXPECT_EQ(hosts, 1);
  ASSERT_TRUE(hostKind());
  EXPECT_TRUE(hostSchedules());
  EXPECT_EQ(hostKind()->schedules(), hostSchedules());
  for (const DeviceBackend *backend : driver::acceleratorBackends())
    EXPECT_NE(static_cast<const DeviceKind *>(backend), hostKind());
}

TEST(Strategies, AreThereForEveryKind) {
  for (unsigned kind = 0; kind <= plan::getMaxEnumValForScheduleKind(); ++kind) {
    const KernelStrategy &strategy = strategyOf(plan::ScheduleKind(kind));
    EXPECT_EQ(strategy.kind(), plan::ScheduleKind(kind));
    EXPECT_FALSE(strategy.summary().empty());
  }
}
