//===- cluster_roster_test.cpp - devices of tasks that are gone -----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A job that goes on with fewer processes: what they are told, who follows, who is turned away.

#include "cluster_ring.h"

using namespace weir::rt::test;

namespace {

std::vector<int32_t> presenceOf(const Member &member, int32_t count) {
  std::vector<int32_t> visits(size_t(count), 0);
  weir_cluster_presence(member.cluster, visits.data(), count);
  return visits;
}

/// Runs until one fails; the leader's status.
weir_status runUntilFailure(Member &leader) {
  std::vector<float> x(100, 1.0f);
  for (int i = 0; i < 2000; ++i) {
    std::vector<weir_tensor> fetches(2);
    if (leader.run({floats(x, {100})}, fetches))
      return leader.status;
    for (weir_tensor &tensor : fetches)
      weir_session_release(leader.session, &tensor);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return WEIR_STATUS_INIT;
}

void goOnWithoutTheLast(const std::string &secret) {
  Ring ring(3);
  Tasks tasks(3);
  tasks.secret = secret;
  tasks.connectMs = 3000;
  Worker first(tasks, 1, ring.program.get());
  Worker second(tasks, 2, ring.program.get());
  Worker again(tasks, 1, ring.program.get(), Worker::later);
  Member leader(tasks, 0, ring.program.get());
  ASSERT_EQ(leader.code, WEIR_OK) << leader.status.message;
  checkRing(leader, 3, 1000);
  EXPECT_EQ(presenceOf(leader, 3), (std::vector<int32_t>{1, 1, 1}));
  second.end();
  EXPECT_EQ(runUntilFailure(leader).code, WEIR_UNAVAILABLE) << leader.status.message;
  // Who waits for its values may notice before the leader's own connection ends.
  for (int i = 0; i < 3000 && presenceOf(leader, 3)[2] != -1; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(presenceOf(leader, 3)[2], -1);
  EXPECT_EQ(weir_cluster_owner(leader.cluster, 2), 2);

  int32_t owners[] = {0, 1, 0};
  EXPECT_EQ(weir_cluster_reassign(leader.cluster, owners, 3, 0, &leader.status), WEIR_OK)
      << leader.status.message;
  EXPECT_TRUE(weir_cluster_reassigned(leader.cluster));
  ASSERT_EQ(leader.renew(ring.program.get()), WEIR_OK) << leader.status.message;
  EXPECT_FALSE(weir_cluster_reassigned(leader.cluster));
  EXPECT_EQ(weir_cluster_owner(leader.cluster, 2), 0);
  checkRing(leader, 3, 1000);
  checkRing(leader, 3, 100000);

  // One that begins anew learns of it, and one whose devices are another's stays out.
  first.end();
  EXPECT_EQ(runUntilFailure(leader).code, WEIR_UNAVAILABLE) << leader.status.message;
  again.begin();
  Tasks hurried = tasks;
  hurried.connectMs = 500;
  for (size_t i = 0; i < hurried.tasks.size(); ++i)
    hurried.tasks[i] = {hurried.names[i].c_str(), hurried.addresses[i].c_str()};
  checkRing(leader, 3, 1000);
  Member late(hurried, 2, ring.program.get());
  ASSERT_EQ(late.code, WEIR_OK) << late.status.message;
  EXPECT_EQ(weir_cluster_serve(late.cluster, &late.status), WEIR_UNAVAILABLE);
  EXPECT_NE(std::string(late.status.message)
                .find("its devices are those of task /job:worker/replica:0/task:0 by now"),
            std::string::npos)
      << late.status.message;
  checkRing(leader, 3, 1000);
}

TEST(ClusterRoster, OthersGetTheDevicesOfATaskThatIsGone) { goOnWithoutTheLast(""); }
TEST(ClusterRoster, WithASharedSecret) { goOnWithoutTheLast("known to three tasks of a test"); }

/// The second task leads once the first is gone, and the third follows.
TEST(ClusterRoster, AnotherLeads) {
  Ring ring(3);
  Tasks tasks(3);
  pid_t lost = forkAlone();
  if (!lost) {
    Member leader(tasks, 0, ring.program.get());
    if (leader.code == WEIR_OK)
      checkRing(leader, 3, 1000);
    // As one that is killed: no goodbye.
    _exit(0);
  }
  Worker third(tasks, 2, ring.program.get());
  Member second(tasks, 1, ring.program.get());
  ASSERT_EQ(second.code, WEIR_OK) << second.status.message;
  EXPECT_EQ(weir_cluster_serve(second.cluster, &second.status), WEIR_UNAVAILABLE)
      << second.status.message;
  waitpid(lost, nullptr, 0);
  int32_t owners[] = {1, 1, 2};
  ASSERT_EQ(weir_cluster_reassign(second.cluster, owners, 3, 1, &second.status), WEIR_OK)
      << second.status.message;
  ASSERT_EQ(second.renew(ring.program.get()), WEIR_OK) << second.status.message;
  EXPECT_EQ(weir_cluster_leader(second.cluster), 1);
  checkRing(second, 3, 1000);
  EXPECT_EQ(weir_cluster_serve(second.cluster, &second.status), WEIR_INVALID_ARGUMENT);
}

TEST(ClusterRoster, WhatCannotBeIsRefused) {
  Tasks tasks(3);
  weir_cluster_options options = tasks.options(1);
  weir_cluster *cluster = nullptr;
  weir_status status = WEIR_STATUS_INIT;
  ASSERT_EQ(weir_cluster_join(&options, &cluster, &status), WEIR_OK) << status.message;
  int32_t noTask[] = {1, 1, 3}, negative[] = {1, 1, -1}, itself[] = {2, 2, 2}, gone[] = {1, 1, 0},
          good[] = {1, 1, 1};
  for (const int32_t *owners : {noTask, negative, itself, gone})
    EXPECT_EQ(weir_cluster_reassign(cluster, owners, 3, 1, &status), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(weir_cluster_reassign(cluster, good, 2, 1, &status), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(weir_cluster_reassign(cluster, nullptr, 0, 1, &status), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(weir_cluster_reassign(cluster, good, 3, 0, &status), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(weir_cluster_reassign(cluster, good, 3, 1, &status), WEIR_OK) << status.message;
  EXPECT_EQ(weir_cluster_owner(cluster, 0), 1);
  EXPECT_EQ(weir_cluster_owner(cluster, 3), -1);
  weir_task_figures figures = {};
  figures.size = sizeof(figures);
  EXPECT_EQ(weir_cluster_figures(cluster, 1, &figures), WEIR_OK);
  EXPECT_EQ(figures.is_here, 1);
  EXPECT_EQ(weir_cluster_figures(cluster, 3, &figures), WEIR_OUT_OF_RANGE);
  EXPECT_EQ(weir_cluster_figures(cluster, 1, nullptr), WEIR_INVALID_ARGUMENT);
  weir_cluster_leave(cluster);
}

} // namespace
