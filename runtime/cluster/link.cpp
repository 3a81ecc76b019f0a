//===- link.cpp - one connection over UCX ---------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cluster/wire.h"

#include <sched.h>
#include <string.h>

namespace weir::rt::cluster {

/// All messages are of one kind for UCX.
static constexpr unsigned messageId = 0;

/// Takes the lock ahead of the thread that makes progress, which has it nearly
/// always.
class Link::Guard {
public:
  explicit Guard(Link &link) : link(link) {
    link.wanting.fetch_add(1);
    link.mutex.lock();
    link.wanting.fetch_sub(1);
  }
  ~Guard() { link.mutex.unlock(); }

private:
  Link &link;
};

struct Link::Outgoing {
  Link *link;
  void *owned;
  std::atomic<int64_t> *pending;
  Header header;
};

//===----------------------------------------------------------------------===//
// Making and ending
//===----------------------------------------------------------------------===//

std::shared_ptr<Link> Link::create(Memory &memory, ucp_context_h context,
                                   int32_t ownTask, uint64_t mine,
                                   std::string &error) {
  std::shared_ptr<Link> link(new Link(memory, ownTask, mine));
  ucp_worker_params_t params = {};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucs_status_t status = ucp_worker_create(context, &params, &link->worker);
  if (status == UCS_OK)
    status = ucp_worker_get_efd(link->worker, &link->eventFd);
  if (status == UCS_OK) {
    ucp_am_handler_param_t handler = {};
    handler.field_mask =
        UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
        UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = messageId;
    handler.flags = UCP_AM_FLAG_WHOLE_MSG;
    handler.cb = onMessage;
    handler.arg = link.get();
    status = ucp_worker_set_am_recv_handler(link->worker, &handler);
  }
  ucp_address_t *address = nullptr;
  size_t bytes = 0;
  if (status == UCS_OK)
    status = ucp_worker_get_address(link->worker, &address, &bytes);
  if (status == UCS_OK) {
    link->workerAddress.assign(reinterpret_cast<const char *>(address), bytes);
    ucp_worker_release_address(link->worker, address);
    return link;
  }
  error = std::string("UCX does not work here: ") + ucs_status_string(status);
  return nullptr;
}

bool Link::connect(int32_t newTask, const std::string &address,
                   uint64_t newTheirs, std::string &error) {
  Guard guard(*this);
  ucp_ep_params_t params = {};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
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
  theirs = newTheirs;
  heard = nowNs();
  return true;
}

void Link::close() {
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
    while (((UCS_PTR_IS_PTR(request) &&
             ucp_request_check_status(request) == UCS_INPROGRESS) ||
            !outgoings.empty()) &&
           nowNs() < give)
      ucp_worker_progress(worker);
    if (UCS_PTR_IS_PTR(request))
      ucp_request_free(request);
  }
  ucp_worker_destroy(worker);
  worker = nullptr;
  // Nobody reads or writes for these any more.
  while (!outgoings.empty())
    finishSend(*outgoings.begin());
  for (Incoming *incoming : receiving)
    received(incoming, UCS_ERR_CANCELED);
  receiving.clear();
  for (Incoming *incoming : ready) {
    memory.release(incoming->block);
    delete incoming;
  }
  ready.clear();
}

void Link::onError(void *self, ucp_ep_h endpoint, ucs_status_t status) {
  auto &link = *static_cast<Link *>(self);
  link.failures.push_back(
      {link.task, link.mine,
       std::string("its connection failed: ") + ucs_status_string(status)});
}

//===----------------------------------------------------------------------===//
// Sending
//===----------------------------------------------------------------------===//

void Link::finishSend(Outgoing *outgoing) {
  outgoings.erase(outgoing);
  if (outgoing->owned)
    memory.release(outgoing->owned);
  if (outgoing->header.kind == Kind::heartbeat)
    beating = false;
  if (outgoing->pending)
    outgoing->pending->fetch_sub(1);
  sending.fetch_sub(1);
  delete outgoing;
}

void Link::onSent(void *request, ucs_status_t status, void *outgoing) {
  ucp_request_free(request);
  auto *self = static_cast<Outgoing *>(outgoing);
  self->link->finishSend(self);
}

bool Link::send(Header header, const void *data, int64_t bytes, void *owned,
                std::atomic<int64_t> *pending) {
  bool beat = header.kind == Kind::heartbeat;
  Guard guard(*this);
  // One heartbeat that does not go tells as much as many.
  if (endpoint && beat && beating)
    return true;
  header.nonce = theirs;
  header.task = own;
  auto *outgoing = new Outgoing{this, owned, pending, header};
  outgoings.insert(outgoing);
  sending.fetch_add(1);
  if (!endpoint) {
    finishSend(outgoing);
    return false;
  }
  beating |= beat;
  ucp_request_param_t param = {};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = onSent;
  param.user_data = outgoing;
  ucs_status_ptr_t request = ucp_am_send_nbx(
      endpoint, messageId, &outgoing->header, outgoing->header.sentBytes(),
      data, size_t(bytes), &param);
  if (UCS_PTR_IS_PTR(request)) {
    // Goes on as progress is made: a thread that sleeps must look.
    ucp_worker_signal(worker);
    return true;
  }
  if (UCS_PTR_IS_ERR(request))
    failures.push_back({task, mine,
                        std::string("sending failed: ") +
                            ucs_status_string(UCS_PTR_STATUS(request))});
  finishSend(outgoing);
  return true;
}

//===----------------------------------------------------------------------===//
// Receiving
//===----------------------------------------------------------------------===//

void Link::received(Incoming *incoming, ucs_status_t status) {
  if (status == UCS_OK) {
    ready.push_back(incoming);
    return;
  }
  // The connection's failure is told elsewhere.
  memory.release(incoming->block);
  delete incoming;
}

void Link::onReceived(void *request, ucs_status_t status, size_t,
                      void *argument) {
  ucp_request_free(request);
  auto *incoming = static_cast<Incoming *>(argument);
  Link &link = *incoming->link;
  link.receiving.erase(incoming);
  link.received(incoming, status);
}

ucs_status_t Link::onMessage(void *self, const void *header, size_t headerBytes,
                             void *data, size_t bytes,
                             const ucp_am_recv_param_t *param) {
  auto &link = *static_cast<Link *>(self);
  Header read = {};
  if (headerBytes < Header::fixedBytes() || headerBytes > sizeof(Header))
    return UCS_OK;
  memcpy(&read, header, headerBytes);
  if (read.rank < 0 || read.rank > WEIR_MAX_RANK ||
      headerBytes != read.sentBytes() || read.kind > Kind::last ||
      read.nonce != link.mine || read.task != link.task)
    return UCS_OK;
  link.heard = nowNs();

  auto *incoming = new Incoming{read, nullptr, int64_t(bytes), false, &link};
  if (bytes == 0 && read.kind != Kind::tensor && read.kind != Kind::fetch &&
      read.kind != Kind::feed) {
    link.ready.push_back(incoming);
    return UCS_OK;
  }
  incoming->block = link.memory.allocate(read, int64_t(bytes));
  if (!incoming->block) {
    incoming->noMemory = true;
    link.ready.push_back(incoming);
    return UCS_OK;
  }
  if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) {
    if (bytes > 0)
      memcpy(incoming->block, data, bytes);
    link.ready.push_back(incoming);
    return UCS_OK;
  }
  ucp_request_param_t options = {};
  options.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  options.cb.recv_am = onReceived;
  options.user_data = incoming;
  ucs_status_ptr_t request = ucp_am_recv_data_nbx(
      link.worker, data, incoming->block, bytes, &options);
  if (UCS_PTR_IS_PTR(request))
    link.receiving.insert(incoming);
  else
    link.received(incoming, UCS_PTR_STATUS(request));
  return UCS_OK;
}

bool Link::progress(std::vector<Incoming *> &out,
                    std::vector<Failure> &failed) {
  // Others first; their sections are short.
  while (wanting.load() > 0)
    sched_yield();
  std::lock_guard<std::mutex> lock(mutex);
  if (!worker)
    return false;
  bool moved = false;
  for (int i = 0; i < 16 && ucp_worker_progress(worker) > 0; ++i)
    moved = true;
  out.insert(out.end(), ready.begin(), ready.end());
  moved |= !ready.empty() || !failures.empty();
  ready.clear();
  for (Failure &failure : failures)
    failed.push_back(std::move(failure));
  failures.clear();
  return moved;
}

bool Link::arm() {
  std::lock_guard<std::mutex> lock(mutex);
  return worker && ready.empty() && failures.empty() &&
         ucp_worker_arm(worker) == UCS_OK;
}

void Link::wake() {
  Guard guard(*this);
  if (worker)
    ucp_worker_signal(worker);
}

} // namespace weir::rt::cluster
