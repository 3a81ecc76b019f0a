//===- plan_dnn.cpp - plans without a GPU ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/attention_graph.h"
#include "cuda/convolution_graph.h"
#include "cuda/pooling_graph.h"
#include "support/text.h"

#include <stdlib.h>

using namespace weir::rt;
using namespace weir::rt::cuda;

/// What the descriptor of a plan or a GPU is as text, with a zero at the end. Null:
/// it is none, or the host has no memory.
static char *toJson(const Dnn &dnn, DnnDescriptor descriptor, int name) {
  int64_t bytes = 0;
  if (dnn.get(descriptor, name, dnn::typeChar, 0, &bytes, nullptr) != 0 || bytes <= 0)
    return nullptr;
  auto *text = static_cast<char *>(calloc(size_t(bytes) + 1, 1));
  if (text && dnn.get(descriptor, name, dnn::typeChar, bytes, &bytes, text) == 0)
    return text;
  free(text);
  return nullptr;
}

/// Describes the GPU of a profile. Null, or what is wrong.
static const char *describeDevice(const Dnn &dnn, const char *profile, DnnDescriptor *device) {
  if (dnn.describe(dnn::deviceProperties, device) != 0)
    return "cuDNN lacks one of its libraries, or memory";
  if (dnn.set(*device, dnn::deviceJson, dnn::typeChar, int64_t(strlen(profile)), profile) == 0 &&
      dnn.finalize(*device) == 0)
    return nullptr;
  dnn.forget(*device);
  return "cuDNN does not take the profile";
}

/// A plan of what `choose` asks the library for, as text that free() frees. Null: `why`.
template <typename Desc, typename Choose>
static char *makePlan(const Desc *desc, const char *profile, const char **why, Choose choose) {
  const Dnn *dnn = loadDnn();
  *why = "there is no cuDNN 9 (libcudnn.so.9) here";
  if (!dnn)
    return nullptr;
  DnnPlace place = {};
  *why = describeDevice(*dnn, profile, &place.device);
  if (*why)
    return nullptr;
  if (!desc) {
    dnn->forget(place.device);
    return nullptr;
  }
  PlanText text = choose(*dnn, place);
  // What does not load here would not load there.
  int64_t workspace;
  DnnDescriptor plan =
      text.data ? loadPlan(*dnn, place, text.data, text.bytes, &workspace) : nullptr;
  free(text.data);
  char *json = plan ? toJson(*dnn, plan, dnn::planJson) : nullptr;
  if (plan)
    dnn->forget(plan);
  dnn->forget(place.device);
  if (!json)
    *why = "cuDNN knows no plan for it without a GPU";
  return json;
}

char *weir_cuda_plan_convolution(const weir_cuda_convolution *desc, const char *profile,
                                 const char **why) {
  return makePlan(desc, profile, why, [&](const Dnn &dnn, const DnnPlace &place) {
    return choosePlan(dnn, place, *desc, shapeOf(*desc, nullptr));
  });
}

char *weir_cuda_plan_pooling(const weir_cuda_pooling *desc, const char *profile, const char **why) {
  return makePlan(desc, profile, why, [&](const Dnn &dnn, const DnnPlace &place) {
    return choosePlan(dnn, place, *desc);
  });
}

char *weir_cuda_plan_attention(const weir_cuda_attention *desc, const char *profile,
                               const char **why) {
  return makePlan(desc, profile, why, [&](const Dnn &dnn, const DnnPlace &place) {
    return choosePlan(dnn, place, *desc);
  });
}

char *weir_cuda_profile(const char **why) {
  const Dnn *dnn = loadDnn();
  *why = "there is no cuDNN 9 (libcudnn.so.9) here";
  if (!dnn)
    return nullptr;
  DnnHandle handle = nullptr;
  *why = "cuDNN finds no GPU that it can use";
  if (dnn->create(&handle) != 0)
    return nullptr;
  DnnDescriptor device = nullptr;
  char *json = nullptr;
  if (dnn->describe(dnn::deviceProperties, &device) == 0) {
    if (dnn->set(device, dnn::deviceHandle, dnn::typeHandle, 1, &handle) == 0 &&
        dnn->finalize(device) == 0)
      json = toJson(*dnn, device, dnn::deviceJson);
    dnn->forget(device);
  }
  dnn->destroy(handle);
  *why = json ? nullptr : "cuDNN does not describe the GPU";
  return json;
}
