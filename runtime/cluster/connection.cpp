//===- connection.cpp - one connection over UCX ---------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cluster/ucx_transport.h"
#include "support/few_bytes.h"

#include <algorithm>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

namespace weir::rt::cluster {

/// What UCX tells messages apart by: those with a Header, and with a ShortHeader.
static constexpr unsigned messageId = 0, shortId = 1;

/// Takes the lock ahead of a thread that makes progress, which has it nearly
/// always.
class Connection::Guard {
public:
  explicit Guard(Connection &connection) : connection(connection) {
    if (connection.mutex.tryLock())
      return;
    connection.wanting.fetch_add(1);
    connection.mutex.lock();
    connection.wanting.fetch_sub(1);
  }
  ~Guard() { connection.mutex.unlock(); }

private:
  Connection &connection;
};

/// From here on bytes are read where they are rather than sent, if they can be.
static constexpr int64_t referredBytes = 1 << 15;
/// As much is read at once: other messages and signs of life go in between.
static constexpr int64_t readAtOnce = 1 << 21;

/// A message on its way. What was borrowed lies behind it. Those whose bytes
/// are read at once, nearly all small ones, are in no list.
struct Connection::Outgoing {
  Connection *connection;
  Outgoing *previous, *next;
  bool isSmall; ///< behind it there is room for WEIR_FEW_BYTES
  Payload payload;
  Reference reference;
  bool posted; ///< UCX has it
  bool read;   ///< the other task has read what it refers to
  Header header;
};

//===----------------------------------------------------------------------===//
// Making and ending
//===----------------------------------------------------------------------===//

std::shared_ptr<Connection> Connection::create(Memory &memory, ucp_context_h context,
                                               int32_t ownTask, uint64_t ownIncarnation,
                                               uint64_t mine, int64_t atOnceBytes,
                                               std::string &error) {
  std::shared_ptr<Connection> connection(
      new Connection(memory, ownTask, ownIncarnation, mine, atOnceBytes));
  ucp_worker_params_t params = {};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucs_status_t status = ucp_worker_create(context, &params, &connection->worker);
  if (status == UCS_OK)
    status = ucp_worker_get_efd(connection->worker, &connection->eventFd);
  if (status == UCS_OK) {
    ucp_am_handler_param_t handler = {};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                         UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = messageId;
    handler.flags = UCP_AM_FLAG_WHOLE_MSG;
    handler.cb = onMessage;
    handler.arg = connection.get();
    status = ucp_worker_set_am_recv_handler(connection->worker, &handler);
    if (status == UCS_OK) {
      handler.id = shortId;
      handler.cb = onShort;
      status = ucp_worker_set_am_recv_handler(connection->worker, &handler);
    }
  }
  ucp_address_t *address = nullptr;
  size_t bytes = 0;
  if (status == UCS_OK)
    status = ucp_worker_get_address(connection->worker, &address, &bytes);
  if (status == UCS_OK) {
    connection->workerAddress.assign(reinterpret_cast<const char *>(address), bytes);
    ucp_worker_release_address(connection->worker, address);
    return connection;
  }
  error = std::string("UCX does not work here: ") + ucs_status_string(status);
  return nullptr;
}

bool Connection::connect(int32_t newTask, uint64_t newIncarnation, const std::string &address,
                         uint64_t newTheirs, std::string &error) {
  Guard guard(*this);
  ucp_ep_params_t params = {};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t *>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = onError;
  params.err_handler.arg = this;
  ucs_status_t status = ucp_ep_create(worker, &params, &endpoint);
  if (status != UCS_OK) {
    endpoint = nullptr;
    error = std::string("UCX finds no way to it: ") + ucs_status_string(status);
    return false;
  }
  task = newTask;
  incarnation = newIncarnation;
  theirs = newTheirs;
  heard = nowNs();
  return true;
}

void Connection::close() {
  Lock noReads(readMutex);
  Guard guard(*this);
  if (!worker)
    return;
  if (endpoint) {
    ucp_request_param_t param = {};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_EP_CLOSE_FLAG_FORCE;
    void *request = ucp_ep_close_nbx(endpoint, &param);
    endpoint = nullptr;
    // What was being sent ends with its endpoint. Nothing here may hang, though.
    int64_t give = nowNs() + 500000000;
    while (((UCS_PTR_IS_PTR(request) && ucp_request_check_status(request) == UCS_INPROGRESS) ||
            posted > 0) &&
           nowNs() < give)
      ucp_worker_progress(worker);
    if (UCS_PTR_IS_PTR(request))
      ucp_request_free(request);
  }
  ucp_worker_destroy(worker);
  worker = nullptr;
  // Nobody reads or writes for these any more.
  while (outgoings)
    finishSend(outgoings, /*tell=*/false);
  while (Outgoing *outgoing = unused) {
    unused = outgoing->next;
    free(outgoing);
  }
  unusedCount = 0;
  for (const Released &message : released)
    memory.forget(message);
  released.clear();
  for (Incoming *incoming : receiving)
    received(incoming, UCS_ERR_CANCELED);
  receiving.clear();
  for (Incoming *incoming : reading)
    received(incoming, UCS_ERR_CANCELED);
  reading.clear();
  for (Incoming *incoming : ready) {
    memory.release(incoming->block);
    delete incoming;
  }
  ready.clear();
}

void Connection::onError(void *self, ucp_ep_h endpoint, ucs_status_t status) {
  auto &connection = *static_cast<Connection *>(self);
  connection.failures.push_back(
      {connection.task, connection.mine,
       std::string("its connection failed: ") + ucs_status_string(status)});
}

//===----------------------------------------------------------------------===//
// Sending
//===----------------------------------------------------------------------===//

/// `tell`: of a kept one, as progress.
void Connection::finishSend(Outgoing *outgoing, bool tell) {
  (outgoing->previous ? outgoing->previous->next : outgoings) = outgoing->next;
  if (outgoing->next)
    outgoing->next->previous = outgoing->previous;
  const Payload &payload = outgoing->payload;
  const Header &header = outgoing->header;
  if (payload.lifetime == Payload::owned)
    memory.release(const_cast<void *>(payload.data));
  if (payload.lifetime == Payload::kept && tell)
    released.push_back({payload.step, header.kind, header.index});
  else if (payload.lifetime == Payload::kept)
    memory.forget({payload.step, header.kind, header.index});
  if (header.kind == Kind::heartbeat)
    beating = false;
  sending.fetch_sub(1);
  recycle(outgoing);
}

void Connection::onSent(void *request, ucs_status_t status, void *outgoing) {
  ucp_request_free(request);
  auto *self = static_cast<Outgoing *>(outgoing);
  self->posted = false;
  --self->connection->posted;
  // What a reference stands for goes when it was read.
  if (!self->header.refers || self->read)
    self->connection->finishSend(self, /*tell=*/true);
}

/// A message to be given to UCX.
Connection::Outgoing *Connection::prepare(const Header &header, const Payload &payload) {
  size_t behind = payload.lifetime == Payload::borrowed ? size_t(payload.bytes) : 0;
  bool isSmall = behind <= WEIR_FEW_BYTES;
  Outgoing *outgoing = isSmall ? unused : nullptr;
  if (outgoing) {
    unused = outgoing->next;
    --unusedCount;
  } else {
    size_t room = isSmall ? WEIR_FEW_BYTES : behind;
    outgoing = static_cast<Outgoing *>(malloc(sizeof(Outgoing) + room));
    outgoing->connection = this;
    outgoing->isSmall = isSmall;
  }
  outgoing->payload = payload;
  outgoing->posted = outgoing->read = false;
  header.copyTo(outgoing->header);
  if (behind) {
    outgoing->payload.data = outgoing + 1;
    copyFew(outgoing + 1, payload.data, behind);
  }
  outgoing->header.nonce = theirs;
  outgoing->header.task = own;
  return outgoing;
}

/// It is still to be read.
void Connection::keep(Outgoing *outgoing) {
  outgoing->previous = nullptr;
  outgoing->next = outgoings;
  if (outgoings)
    outgoings->previous = outgoing;
  outgoings = outgoing;
  sending.fetch_add(1);
  beating |= outgoing->header.kind == Kind::heartbeat;
}

void Connection::recycle(Outgoing *outgoing) {
  constexpr int32_t most = 32;
  if (!outgoing->isSmall || unusedCount == most)
    return free(outgoing);
  outgoing->next = unused;
  unused = outgoing;
  ++unusedCount;
}

bool Connection::sendShort(const StepKey &step, int32_t edge, int64_t iteration,
                           const weir_tensor &tensor) {
  if (tensor.bytes <= 0 || tensor.bytes > WEIR_FEW_BYTES || tensor.rank > ShortHeader::mostDims ||
      edge > UINT16_MAX || uint64_t(iteration) > UINT32_MAX || uint64_t(step.number) > UINT32_MAX)
    return false;
  struct {
    ShortHeader header;
    unsigned char elements[WEIR_FEW_BYTES];
  } message;
  ShortHeader &header = message.header;
  for (int32_t d = 0; d < ShortHeader::mostDims; ++d) {
    int64_t dim = d < tensor.rank ? tensor.dims[d] : 0;
    if (dim > UINT8_MAX)
      return false;
    header.dims[d] = uint8_t(dim);
  }
  header.number = uint32_t(step.number);
  header.iteration = uint32_t(iteration);
  header.edge = uint16_t(edge);
  header.dtype = uint8_t(tensor.dtype);
  header.rank = uint8_t(tensor.rank) & 0x7f;
  header.isLed = step.leader == own;
  copyFew(message.elements, tensor.data, size_t(tensor.bytes));
  ucp_request_param_t param;
  // Nothing of the message stays behind here: it goes now, or not by this way.
  param.op_attr_mask = UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
  Guard guard(*this);
  if (!endpoint || (step.leader != own && step.leader != task))
    return false;
  header.nonce = uint32_t(theirs);
  if (ucp_am_send_nbx(endpoint, shortId, nullptr, 0, &message,
                      sizeof(ShortHeader) + size_t(tensor.bytes), &param) != nullptr)
    return false;
  countSent(tensor.bytes);
  return true;
}

Sent Connection::send(const Header &header, const Payload &payload) {
  Guard guard(*this);
  if (!endpoint) {
    if (payload.lifetime == Payload::owned)
      memory.release(const_cast<void *>(payload.data));
    return Sent::closed;
  }
  // One heartbeat that does not go tells as much as many.
  if (header.kind == Kind::heartbeat && beating)
    return Sent::already;
  countSent(payload.bytes);
  Outgoing *outgoing = prepare(header, payload);
  const void *data = outgoing->payload.data;
  auto bytes = size_t(payload.bytes);
  bool refers = readable && payload.bytes >= referredBytes;
  if (refers) {
    outgoing->header.refers = true;
    outgoing->reference = {uint64_t(uintptr_t(outgoing)), uint64_t(uintptr_t(data)), payload.bytes};
    data = &outgoing->reference;
    bytes = sizeof(Reference);
  }
  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  if (payload.bytes <= atOnceBytes) {
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
  }
  param.cb.send = onSent;
  param.user_data = outgoing;
  ucs_status_ptr_t request = ucp_am_send_nbx(endpoint, messageId, &outgoing->header,
                                             outgoing->header.sentBytes(), data, bytes, &param);
  if (UCS_PTR_IS_PTR(request)) {
    outgoing->posted = true;
    ++posted;
    keep(outgoing);
    // Goes on as progress is made: a thread that sleeps must look.
    ucp_worker_signal(worker);
    return Sent::later;
  }
  if (UCS_PTR_IS_ERR(request)) {
    failures.push_back(
        {task, mine, std::string("sending failed: ") + ucs_status_string(UCS_PTR_STATUS(request))});
  } else if (refers) {
    keep(outgoing);
    return Sent::later;
  }
  // Of kept bytes the caller is told by this return.
  if (payload.lifetime == Payload::owned)
    memory.release(const_cast<void *>(payload.data));
  recycle(outgoing);
  return Sent::already;
}

//===----------------------------------------------------------------------===//
// Receiving
//===----------------------------------------------------------------------===//

void Connection::received(Incoming *incoming, ucs_status_t status) {
  if (status == UCS_OK) {
    ready.push_back(incoming);
    return;
  }
  // The connection's failure is told elsewhere.
  memory.release(incoming->block);
  delete incoming;
}

void Connection::onReceived(void *request, ucs_status_t status, size_t, void *argument) {
  ucp_request_free(request);
  auto *incoming = static_cast<Incoming *>(argument);
  Connection &connection = *incoming->connection;
  connection.receiving.erase(incoming);
  connection.received(incoming, status);
}

/// Takes what concerns the connection alone. True: it is dealt with.
bool Connection::accept(const Header &header) {
  if (header.kind == Kind::readable)
    readable = true;
  if (header.kind == Kind::finished)
    for (Outgoing *outgoing = outgoings; outgoing; outgoing = outgoing->next)
      if (uint64_t(uintptr_t(outgoing)) == uint64_t(header.iteration) && outgoing->header.refers) {
        outgoing->read = true;
        if (!outgoing->posted)
          finishSend(outgoing, /*tell=*/true);
        break;
      }
  return header.kind == Kind::readable || header.kind == Kind::finished;
}

ucs_status_t Connection::onShort(void *self, const void *, size_t headerBytes, void *data,
                                 size_t bytes, const ucp_am_recv_param_t *param) {
  auto &connection = *static_cast<Connection *>(self);
  ShortHeader read;
  if (headerBytes != 0 || bytes <= sizeof(read) || bytes > sizeof(read) + WEIR_FEW_BYTES ||
      (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV))
    return UCS_OK;
  memcpy(static_cast<void *>(&read), data, sizeof(read));
  if (read.rank > ShortHeader::mostDims || read.nonce != uint32_t(connection.mine) ||
      connection.task < 0)
    return UCS_OK;
  connection.hasHeard.store(true, std::memory_order_relaxed);
  Incoming *incoming = connection.making ? connection.making->take() : new Incoming;
  Header &header = incoming->header;
  header.nonce = connection.mine;
  header.kind = Kind::tensor;
  header.dtype = read.dtype;
  header.rank = read.rank;
  header.refers = false;
  header.index = read.edge;
  header.step = {read.isLed ? connection.incarnation : connection.ownIncarnation, read.number,
                 read.isLed ? connection.task : connection.own};
  header.iteration = read.iteration;
  header.bytes = int64_t(bytes - sizeof(read));
  header.count = 0;
  header.task = connection.task;
  for (int d = 0; d < ShortHeader::mostDims; ++d)
    header.dims[d] = read.dims[d];
  incoming->block = nullptr;
  incoming->bytes = header.bytes;
  incoming->noMemory = false;
  incoming->isFew = true;
  incoming->connection = &connection;
  copyFew(incoming->inside, static_cast<const char *>(data) + sizeof(read), size_t(header.bytes));
  connection.ready.push_back(incoming);
  return UCS_OK;
}

ucs_status_t Connection::onMessage(void *self, const void *header, size_t headerBytes, void *data,
                                   size_t bytes, const ucp_am_recv_param_t *param) {
  auto &connection = *static_cast<Connection *>(self);
  Header read;
  if (headerBytes < Header::fixedBytes() || headerBytes > sizeof(Header))
    return UCS_OK;
  memcpy(static_cast<void *>(&read), header, Header::fixedBytes());
  memset(read.dims, 0, Header::usualBytes() - Header::fixedBytes());
  copyFew(read.dims, static_cast<const char *>(header) + Header::fixedBytes(),
          headerBytes - Header::fixedBytes());
  bool comesLater = param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV;
  if (read.rank > WEIR_MAX_RANK || headerBytes != read.sentBytes() || read.kind > Kind::last ||
      read.nonce != connection.mine || read.task != connection.task ||
      (read.refers && (bytes != sizeof(Reference) || comesLater)))
    return UCS_OK;
  Reference reference = {};
  if (read.refers) {
    memcpy(&reference, data, sizeof(reference));
    if (reference.bytes < 0)
      return UCS_OK;
  }
  connection.hasHeard.store(true, std::memory_order_relaxed);
  if (connection.accept(read))
    return UCS_OK;

  Incoming *incoming = connection.making ? connection.making->take() : new Incoming;
  read.copyTo(incoming->header);
  incoming->block = nullptr;
  incoming->bytes = int64_t(bytes);
  incoming->noMemory = false;
  incoming->isFew = read.kind == Kind::tensor && !read.refers && !comesLater && bytes > 0 &&
                    bytes <= WEIR_FEW_BYTES;
  incoming->connection = &connection;
  if (incoming->isFew) {
    copyFew(incoming->inside, data, bytes);
    connection.ready.push_back(incoming);
    return UCS_OK;
  }
  if (read.refers) {
    incoming->reference = reference;
    incoming->bytes = reference.bytes;
  }
  if (incoming->bytes == 0 && read.kind != Kind::tensor && read.kind != Kind::fetch &&
      read.kind != Kind::feed) {
    connection.ready.push_back(incoming);
    return UCS_OK;
  }
  incoming->block = connection.memory.allocate(read, incoming->bytes);
  incoming->noMemory = !incoming->block;
  if (read.refers) {
    connection.reading.push_back(incoming);
    return UCS_OK;
  }
  if (!incoming->block) {
    connection.ready.push_back(incoming);
    return UCS_OK;
  }
  if (!comesLater) {
    if (bytes > 0)
      memcpy(incoming->block, data, bytes);
    connection.ready.push_back(incoming);
    return UCS_OK;
  }
  ucp_request_param_t options = {};
  options.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  options.cb.recv_am = onReceived;
  options.user_data = incoming;
  ucs_status_ptr_t request =
      ucp_am_recv_data_nbx(connection.worker, data, incoming->block, bytes, &options);
  if (UCS_PTR_IS_PTR(request))
    connection.receiving.insert(incoming);
  else
    connection.received(incoming, UCS_PTR_STATUS(request));
  return UCS_OK;
}

/// Reads a piece of the first reference. Returns whether there was one.
bool Connection::readSome() {
  Lock reads(readMutex);
  Incoming *incoming;
  {
    Guard guard(*this);
    if (reading.empty())
      return false;
    incoming = reading.front();
  }
  // The other side's memory stays until it is told, and ours until close(), which
  // waits for this.
  const Reference &reference = incoming->reference;
  int64_t piece = std::min(readAtOnce, reference.bytes - readBytes);
  bool good = true;
  if (incoming->block) {
    good = readMemory(peerProcess, reference.address + uint64_t(readBytes),
                      static_cast<char *>(incoming->block) + readBytes, piece);
    readBytes += piece;
  }
  int error = errno;
  if (good && incoming->block && readBytes < reference.bytes)
    return true;
  readBytes = 0;
  Header header = {};
  header.kind = Kind::finished;
  header.iteration = int64_t(reference.number);
  {
    Guard guard(*this);
    reading.pop_front();
    received(incoming, good ? UCS_OK : UCS_ERR_IO_ERROR);
    if (!good)
      failures.push_back(
          {task, mine, std::string("its memory cannot be read: ") + strerror(error)});
  }
  send(header, {});
  return true;
}

bool Connection::progress(Progress &made, int looks) {
  // Others first; their sections are short.
  while (wanting.load(std::memory_order_relaxed) > 0)
    sched_yield();
  bool moved = false;
  {
    Lock lock(mutex);
    if (!worker)
      return false;
    // What has come is handed over at once, rather than after another look.
    // Until then a look inside of the lock is sooner done than one outside.
    making = &made;
    for (int i = 0; i < looks && ready.empty(); ++i) {
      if (ucp_worker_progress(worker) > 0)
        moved = true;
      else if (wanting.load(std::memory_order_relaxed) > 0)
        break;
    }
    making = nullptr;
    moved |= handOver(made);
    if (reading.empty())
      return moved;
  }
  readSome();
  return true;
}

/// Hands what is done to who makes progress. The lock is held.
bool Connection::handOver(Progress &made) {
  if (ready.empty() && released.empty() && failures.empty())
    return false;
  if (made.ready.empty()) {
    made.ready.swap(ready);
  } else {
    made.ready.insert(made.ready.end(), ready.begin(), ready.end());
    ready.clear();
  }
  made.released.insert(made.released.end(), released.begin(), released.end());
  released.clear();
  for (Failure &failure : failures)
    made.failed.push_back(std::move(failure));
  failures.clear();
  return true;
}

bool Connection::arm() {
  Lock lock(mutex);
  return worker && ready.empty() && released.empty() && reading.empty() && failures.empty() &&
         ucp_worker_arm(worker) == UCS_OK;
}

void Connection::wake() {
  Guard guard(*this);
  if (worker)
    ucp_worker_signal(worker);
}

} // namespace weir::rt::cluster
