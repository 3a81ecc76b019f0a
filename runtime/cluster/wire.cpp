//===- wire.cpp - all connections of a task -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cluster/wire.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

namespace weir::rt::cluster {

/// As many as a few links take in at once.
static constexpr size_t maxUnused = 32;

Progress::~Progress() {
  for (Incoming *incoming : unused)
    delete incoming;
}

Incoming *Progress::take() {
  if (unused.empty())
    return new Incoming;
  Incoming *incoming = unused.back();
  unused.pop_back();
  return incoming;
}

void Progress::recycle(Incoming *incoming) {
  if (unused.size() < maxUnused)
    unused.push_back(incoming);
  else
    delete incoming;
}

bool Wire::open(int32_t ownTask, uint64_t incarnation, int32_t taskCount, std::string &error) {
  own = ownTask;
  ownIncarnation = incarnation;
  links.assign(size_t(taskCount), nullptr);
  wakeFd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  // With errors handled UCX leaves shared memory out unless told that its peers
  // may be watched, which its API cannot tell it.
  setenv("UCX_POSIX_ERROR_HANDLING", "y", /*overwrite=*/0);
  ucp_config_t *config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status == UCS_OK) {
    ucp_params_t params = {};
    params.field_mask =
        UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    params.name = "weir";
    params.mt_workers_shared = 1;
    status = ucp_init(&params, config, &context);
    ucp_config_release(config);
  }
  if (status == UCS_OK && wakeFd >= 0)
    return true;
  error = std::string("UCX does not work here: ") + ucs_status_string(status);
  close();
  return false;
}

void Wire::close() {
  std::vector<std::shared_ptr<Link>> last;
  {
    Lock lock(mutex);
    last.swap(links);
  }
  moving.clear();
  // Steps that are not over hold them, too.
  for (const std::shared_ptr<Link> &link : last)
    if (link)
      link->close();
  last.clear();
  if (context)
    ucp_cleanup(context);
  context = nullptr;
  if (wakeFd >= 0)
    ::close(wakeFd);
  wakeFd = -1;
}

std::shared_ptr<Link> Wire::prepare(uint64_t mine, std::string &error) {
  return Link::create(memory, context, own, ownIncarnation, mine, error);
}

bool Wire::connect(int32_t task, uint64_t incarnation, std::shared_ptr<Link> link,
                   const std::string &address, uint64_t theirs, std::string &error) {
  if (!link->connect(task, incarnation, address, theirs, error))
    return false;
  {
    Lock lock(mutex);
    links[size_t(task)].swap(link);
    changed.store(true);
  }
  if (link)
    link->close();
  wake();
  return true;
}

void Wire::disconnect(int32_t task, uint64_t mine) {
  std::shared_ptr<Link> link;
  {
    Lock lock(mutex);
    std::shared_ptr<Link> &current = links[size_t(task)];
    if (!current || current->nonce() != mine)
      return;
    current.swap(link);
    changed.store(true);
  }
  // Others may still hold it for a moment; it says no to them.
  if (link)
    link->close();
  wake();
}

std::shared_ptr<Link> Wire::linkOf(int32_t task) {
  Lock lock(mutex);
  return size_t(task) < links.size() ? links[size_t(task)] : nullptr;
}

Sent Wire::send(int32_t task, const Header &header, const Payload &payload) {
  if (std::shared_ptr<Link> link = linkOf(task))
    return link->send(header, payload);
  if (payload.lifetime == Payload::owned)
    memory.release(const_cast<void *>(payload.data));
  return Sent::closed;
}

int64_t Wire::outstanding() {
  Lock lock(mutex);
  int64_t count = 0;
  for (const std::shared_ptr<Link> &link : links)
    count += link ? link->sending.load() : 0;
  return count;
}

bool Wire::progress(Progress &made) {
  if (changed.load(std::memory_order_relaxed)) {
    Lock lock(mutex);
    moving.clear();
    for (const std::shared_ptr<Link> &link : links)
      if (link)
        moving.push_back(link);
    changed.store(false);
  }
  bool moved = false;
  int looks = moving.size() == 1 ? 8 : 2;
  for (const std::shared_ptr<Link> &link : moving)
    moved |= link->progress(made, looks);
  return moved;
}

bool Wire::arm() {
  waited.assign(1, {wakeFd, POLLIN, 0});
  for (const std::shared_ptr<Link> &link : moving) {
    if (!link->arm())
      return false;
    waited.push_back({link->eventFd, POLLIN, 0});
  }
  return true;
}

void Wire::sleep(int64_t nanoseconds, bool armed) {
  if (!armed)
    waited.assign(1, {wakeFd, POLLIN, 0});
  timespec time = {time_t(nanoseconds / 1000000000), long(nanoseconds % 1000000000)};
  ppoll(waited.data(), waited.size(), &time, nullptr);
  uint64_t count;
  if (waited[0].revents && read(wakeFd, &count, sizeof(count)) < 0)
    return; // awake all the same
}

void Wire::wake() {
  uint64_t one = 1;
  if (write(wakeFd, &one, sizeof(one)) < 0)
    return; // it is awake
}

int64_t Wire::heard(int32_t task) {
  std::shared_ptr<Link> link = linkOf(task);
  return link ? link->heard.load() : nowNs();
}

void Wire::note(int64_t now) {
  for (const std::shared_ptr<Link> &link : moving)
    if (link->hasHeard.load(std::memory_order_relaxed)) {
      link->hasHeard.store(false, std::memory_order_relaxed);
      link->heard = now;
    }
}

void Wire::forgive() {
  for (const std::shared_ptr<Link> &link : moving)
    link->heard = nowNs();
}

} // namespace weir::rt::cluster
