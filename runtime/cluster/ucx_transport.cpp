//===- ucx_transport.cpp - all connections of a task -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cluster/ucx_transport.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

namespace weir::rt::cluster {

/// As many as a few connections take in at once.
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

/// UCX asks the receiver before it sends much (its rendezvous), so that hardware can write where
/// the bytes are to lie. Over TCP the answer waits behind what this task itself sends, and both
/// directions take turns: a piece of a collective goes without. UCX_RNDV_THRESH decides where it
/// is set, and UCX where there is such hardware.
static int64_t bytesAtOnce() {
  constexpr int64_t most = 1 << 20;
  DIR *devices = opendir("/sys/class/infiniband");
  bool hasHardware = false;
  while (const dirent *entry = devices ? readdir(devices) : nullptr)
    hasHardware |= entry->d_name[0] != '.';
  if (devices)
    closedir(devices);
  return hasHardware || getenv("UCX_RNDV_THRESH") ? 0 : most;
}

bool UcxTransport::open(int32_t ownTask, uint64_t incarnation, int32_t taskCount,
                        std::string &error) {
  own = ownTask;
  ownIncarnation = incarnation;
  connections.assign(size_t(taskCount), nullptr);
  wakeFd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  atOnceBytes = bytesAtOnce();
  // With errors handled UCX leaves shared memory out unless told that its peers
  // may be watched, which its API cannot tell it.
  setenv("UCX_POSIX_ERROR_HANDLING", "y", /*overwrite=*/0);
  ucp_config_t *config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  // UCX 1.13 keeps a destroyed worker's first chunk of buffers for headers, 128 of 8 KB: each
  // lost task would cost 2 MB. Headers take less than 256 bytes.
  if (status == UCS_OK && !getenv("UCX_SEG_SIZE"))
    ucp_config_modify(config, "SEG_SIZE", "512");
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

void UcxTransport::close() {
  std::vector<std::shared_ptr<Connection>> last;
  {
    Lock lock(mutex);
    for (size_t task = 0; task < connections.size(); ++task)
      retire(connections[task].get(), int32_t(task));
    last.swap(connections);
  }
  moving.clear();
  // Steps that are not over hold them, too.
  for (const std::shared_ptr<Connection> &connection : last)
    if (connection)
      connection->close();
  last.clear();
  if (context)
    ucp_cleanup(context);
  context = nullptr;
  if (wakeFd >= 0)
    ::close(wakeFd);
  wakeFd = -1;
}

std::shared_ptr<Connection> UcxTransport::prepare(uint64_t mine, std::string &error) {
  return Connection::create(memory, context, own, ownIncarnation, mine, atOnceBytes, error);
}

bool UcxTransport::connect(int32_t task, uint64_t incarnation,
                           std::shared_ptr<Connection> connection, const std::string &address,
                           uint64_t theirs, std::string &error) {
  if (!connection->connect(task, incarnation, address, theirs, error))
    return false;
  {
    Lock lock(mutex);
    connections[size_t(task)].swap(connection);
    retire(connection.get(), task);
    changed.store(true);
  }
  if (connection)
    connection->close();
  wake();
  return true;
}

void UcxTransport::disconnect(int32_t task, uint64_t mine) {
  std::shared_ptr<Connection> connection;
  {
    Lock lock(mutex);
    std::shared_ptr<Connection> &current = connections[size_t(task)];
    if (!current || current->nonce() != mine)
      return;
    current.swap(connection);
    retire(connection.get(), task);
    changed.store(true);
  }
  // Others may still hold it for a moment; it says no to them.
  if (connection)
    connection->close();
  wake();
}

std::shared_ptr<Connection> UcxTransport::connectionOf(int32_t task) {
  Lock lock(mutex);
  return size_t(task) < connections.size() ? connections[size_t(task)] : nullptr;
}

Sent UcxTransport::send(int32_t task, const Header &header, const Payload &payload) {
  if (std::shared_ptr<Connection> connection = connectionOf(task))
    return connection->send(header, payload);
  if (payload.lifetime == Payload::owned)
    memory.release(const_cast<void *>(payload.data));
  return Sent::closed;
}

int64_t UcxTransport::outstanding() {
  Lock lock(mutex);
  int64_t count = 0;
  for (const std::shared_ptr<Connection> &connection : connections)
    count += connection ? connection->sending.load() : 0;
  return count;
}

/// The lock is held.
void UcxTransport::retire(const Connection *connection, int32_t task) {
  past.resize(std::max(past.size(), connections.size()));
  if (connection)
    past[size_t(task)] += connection->sentBytes.load(std::memory_order_relaxed);
}

int64_t UcxTransport::sentBytes(int32_t task) {
  Lock lock(mutex);
  auto at = size_t(task);
  int64_t bytes = at < past.size() ? past[at] : 0;
  if (at < connections.size() && connections[at])
    bytes += connections[at]->sentBytes.load(std::memory_order_relaxed);
  return bytes;
}

bool UcxTransport::progress(Progress &made) {
  if (changed.load(std::memory_order_relaxed)) {
    Lock lock(mutex);
    moving.clear();
    for (const std::shared_ptr<Connection> &connection : connections)
      if (connection)
        moving.push_back(connection);
    changed.store(false);
  }
  bool moved = false;
  int looks = moving.size() == 1 ? 8 : 2;
  for (const std::shared_ptr<Connection> &connection : moving)
    moved |= connection->progress(made, looks);
  return moved;
}

bool UcxTransport::arm() {
  waited.assign(1, {wakeFd, POLLIN, 0});
  for (const std::shared_ptr<Connection> &connection : moving) {
    if (!connection->arm())
      return false;
    waited.push_back({connection->eventFd, POLLIN, 0});
  }
  return true;
}

void UcxTransport::sleep(int64_t nanoseconds, bool armed) {
  if (!armed)
    waited.assign(1, {wakeFd, POLLIN, 0});
  timespec time = {time_t(nanoseconds / 1000000000), long(nanoseconds % 1000000000)};
  ppoll(waited.data(), waited.size(), &time, nullptr);
  uint64_t count;
  if (waited[0].revents && read(wakeFd, &count, sizeof(count)) < 0)
    return; // awake all the same
}

void UcxTransport::wake() {
  uint64_t one = 1;
  if (write(wakeFd, &one, sizeof(one)) < 0)
    return; // it is awake
}

int64_t UcxTransport::heard(int32_t task) {
  std::shared_ptr<Connection> connection = connectionOf(task);
  return connection ? connection->heard.load() : nowNs();
}

void UcxTransport::note(int64_t now) {
  for (const std::shared_ptr<Connection> &connection : moving)
    if (connection->hasHeard.load(std::memory_order_relaxed)) {
      connection->hasHeard.store(false, std::memory_order_relaxed);
      connection->heard = now;
    }
}

void UcxTransport::forgive() {
  for (const std::shared_ptr<Connection> &connection : moving)
    connection->heard = nowNs();
}

} // namespace weir::rt::cluster
