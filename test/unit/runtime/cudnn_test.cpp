//===- cudnn_test.cpp - plans by the real cuDNN, without a GPU --------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// NVIDIA's own library takes our descriptions: tensors, operations, graphs, and
// makes plans of them for a GPU that it is told of. None of it runs here.
//
//===----------------------------------------------------------------------===//

#include "cuda/convolution_graph.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

using namespace weir::rt::cuda;

namespace {

/// What an H200 says of itself; an H100 of its form says the same but for what does
/// not count.
std::string readProfile() {
  std::ifstream file(GPU_PROFILE);
  return {std::istreambuf_iterator<char>(file), {}};
}

weir_extent number(int64_t value) { return {value, {-1, -1, -1, -1}}; }

/// Eight images of 56 in each dimension, 64 channels to 128, windows of three.
weir_cuda_convolution describe(int dtype, int spatial = 2) {
  weir_cuda_convolution desc = {};
  desc.size = sizeof(desc);
  desc.dtype = desc.result_dtype = dtype;
  desc.addend = desc.bias = -1;
  desc.channels_last = 1;
  desc.spatial = spatial;
  desc.groups = 1;
  desc.batch = number(8);
  desc.channels = number(64);
  desc.outputs = number(128);
  for (int i = 0; i < 3; ++i) {
    desc.sizes[i] = number(i < spatial ? 56 : 1);
    desc.window[i] = number(i < spatial ? 3 : 1);
    desc.strides[i] = desc.dilations[i] = 1;
    desc.before[i] = desc.after[i] = i < spatial;
  }
  return desc;
}

/// Eight images of 56 in each dimension, 64 channels, windows of three that move by two.
weir_cuda_pooling describePooling(int dtype, int kind, int spatial = 2) {
  weir_cuda_pooling desc = {};
  desc.size = sizeof(desc);
  desc.dtype = dtype;
  desc.kind = kind;
  desc.channels_last = 1;
  desc.spatial = spatial;
  desc.batch = 8;
  desc.channels = 64;
  for (int i = 0; i < spatial; ++i) {
    desc.sizes[i] = spatial == 3 ? 16 : 56;
    desc.window[i] = 3;
    desc.strides[i] = 2;
    desc.before[i] = desc.after[i] = 1;
    desc.results[i] = desc.sizes[i] / 2;
  }
  return desc;
}

/// Two batches of eight heads of 64, 512 queries of as many keys.
weir_cuda_attention describeAttention(int dtype) {
  weir_cuda_attention desc = {};
  desc.size = sizeof(desc);
  desc.dtype = desc.result_dtype = dtype;
  desc.mask = -1;
  desc.scale = 0.125f;
  desc.batch = 2;
  desc.heads = desc.key_heads = 8;
  desc.query_count = desc.key_count = 512;
  desc.head_size = desc.columns = 64;
  return desc;
}

/// Rows of a head lie one after the other, or beside those of other heads.
void setDistances(weir_cuda_attention &desc, bool beside = false) {
  auto set = [&](int64_t (&distances)[3], int64_t heads, int64_t rows, int64_t columns) {
    distances[0] = heads * rows * columns;
    distances[1] = beside ? columns : rows * columns;
    distances[2] = beside ? heads * columns : columns;
  };
  set(desc.query_distances, desc.heads, desc.query_count, desc.head_size);
  set(desc.key_distances, desc.key_heads, desc.key_count, desc.head_size);
  set(desc.value_distances, desc.key_heads, desc.key_count, desc.columns);
  set(desc.result_distances, desc.heads, desc.query_count, desc.columns);
}

class Cudnn : public ::testing::Test {
protected:
  void SetUp() override {
    // The library takes a driver that has this name already.
    ASSERT_TRUE(dlopen(DRIVER_WITHOUT_GPU, RTLD_NOW)) << dlerror();
    if (!loadDnn())
      GTEST_SKIP() << "there is no cuDNN here";
  }

  std::string hopper = readProfile();

  /// "": there is no plan.
  std::string planOf(const weir_cuda_convolution &desc) {
    return planOf(desc, weir_cuda_plan_convolution);
  }
  std::string planOf(const weir_cuda_pooling &desc) { return planOf(desc, weir_cuda_plan_pooling); }
  std::string planOf(const weir_cuda_attention &desc) {
    return planOf(desc, weir_cuda_plan_attention);
  }
  template <typename Desc, typename Make> std::string planOf(const Desc &desc, Make make) {
    const char *why = nullptr;
    char *text = make(&desc, hopper.c_str(), &why);
    std::string plan = text ? text : "";
    EXPECT_EQ(plan.empty(), why != nullptr);
    free(text);
    return plan;
  }
};

// Addend, bias, activation, in any choice that has a bias.
TEST_F(Cudnn, PlansWhatFollowsInItsOrder) {
  for (int dtype : {WEIR_F32, WEIR_F16, WEIR_BF16})
    for (int parts : {0, 2, 3, 6, 7}) {
      weir_cuda_convolution desc = describe(dtype);
      desc.addend = parts & 1 ? 2 : -1;
      desc.bias = parts & 2 ? 3 : -1;
      desc.activation = parts & 4 ? WEIR_CUDA_RELU : WEIR_CUDA_NO_ACTIVATION;
      EXPECT_NE(planOf(desc), "") << dtype << ' ' << parts;
    }
}

TEST_F(Cudnn, PlansShapes) {
  weir_cuda_convolution grouped = describe(WEIR_F16);
  grouped.groups = 4;
  grouped.bias = 3;
  EXPECT_NE(planOf(grouped), "");
  weir_cuda_convolution depthwise = describe(WEIR_F32);
  depthwise.groups = 64;
  depthwise.outputs = number(64);
  depthwise.bias = 3;
  depthwise.activation = WEIR_CUDA_RELU;
  EXPECT_NE(planOf(depthwise), "");
  weir_cuda_convolution uneven = describe(WEIR_BF16);
  uneven.before[0] = 0;
  uneven.after[1] = 2;
  uneven.strides[0] = 2;
  uneven.dilations[1] = 3;
  EXPECT_NE(planOf(uneven), "");
  weir_cuda_convolution first = describe(WEIR_F32);
  first.channels_last = 0;
  first.bias = 3;
  EXPECT_NE(planOf(first), "");
  EXPECT_NE(planOf(describe(WEIR_F16, 1)), "");
  weir_cuda_convolution volume = describe(WEIR_F16, 3);
  volume.batch = number(1);
  volume.bias = 3;
  EXPECT_NE(planOf(volume), "");
}

/// The engine of a plan, as the library writes it.
std::string engineOf(const std::string &plan) {
  size_t at = plan.find("\"engine\":");
  return at == std::string::npos ? "" : plan.substr(at);
}

TEST_F(Cudnn, UsesTf32OnlyWhereAllowed) {
  weir_cuda_convolution exact = describe(WEIR_F32), tf32 = exact;
  tf32.flags = WEIR_CUDA_TF32;
  EXPECT_NE(engineOf(planOf(exact)), "");
  EXPECT_NE(engineOf(planOf(exact)), engineOf(planOf(tf32)));
}

TEST_F(Cudnn, PlansPoolings) {
  for (int kind : {WEIR_CUDA_MAX_POOLING, WEIR_CUDA_AVERAGE_INSIDE, WEIR_CUDA_AVERAGE_PADDED})
    for (int dtype : {WEIR_F32, WEIR_F16, WEIR_BF16})
      for (int last : {0, 1})
        for (int spatial : {1, 2, 3}) {
          weir_cuda_pooling desc = describePooling(dtype, kind, spatial);
          desc.channels_last = last;
          // For images of three dimensions, channels last, there is what may round f32
          // for tensor cores, and nothing else.
          bool isKnown = dtype != WEIR_F32 || !last || spatial < 3;
          EXPECT_EQ(planOf(desc) != "", isKnown)
              << kind << ' ' << dtype << ' ' << last << ' ' << spatial;
        }
}

TEST_F(Cudnn, PlansPoolingsOfAnyWindow) {
  weir_cuda_pooling all = describePooling(WEIR_F32, WEIR_CUDA_AVERAGE_INSIDE);
  weir_cuda_pooling uneven = describePooling(WEIR_BF16, WEIR_CUDA_MAX_POOLING);
  for (int i : {0, 1}) {
    all.sizes[i] = all.window[i] = 7;
    all.before[i] = all.after[i] = 0;
    all.results[i] = 1;
  }
  EXPECT_NE(planOf(all), "");
  uneven.before[0] = 0;
  uneven.after[0] = 2;
  uneven.window[1] = 2;
  uneven.before[1] = 0;
  for (int last : {0, 1}) {
    uneven.channels_last = last;
    EXPECT_NE(planOf(uneven), "");
  }
}

TEST_F(Cudnn, PlansAttention) {
  for (int dtype : {WEIR_F16, WEIR_BF16})
    for (int causal : {0, 1})
      for (int mask : {0, 1, 2}) {
        weir_cuda_attention desc = describeAttention(dtype);
        desc.causal = causal;
        setDistances(desc);
        const int64_t sizes[] = {desc.batch, 1, mask == 1 ? desc.query_count : 1, desc.key_count};
        std::copy_n(sizes, 4, desc.mask_sizes);
        desc.mask = mask ? 3 : -1;
        desc.mask_dtype = mask == 1 ? WEIR_F32 : dtype;
        EXPECT_NE(planOf(desc), "") << dtype << ' ' << causal << ' ' << mask;
      }
}

TEST_F(Cudnn, PlansAttentionOfAnySize) {
  auto planOfSizes = [&](int64_t queries, int64_t keys, int64_t size, int64_t columns,
                         bool beside = false) {
    weir_cuda_attention desc = describeAttention(WEIR_BF16);
    desc.query_count = queries;
    desc.key_count = keys;
    desc.head_size = size;
    desc.columns = columns;
    setDistances(desc, beside);
    return planOf(desc);
  };
  EXPECT_NE(planOfSizes(512, 512, 64, 64, true), "");
  EXPECT_NE(planOfSizes(70, 75, 64, 64), "");
  EXPECT_NE(planOfSizes(1, 100, 64, 64), "");
  for (int64_t size : {8, 80, 128})
    EXPECT_NE(planOfSizes(128, 128, size, size), "");
  EXPECT_NE(planOfSizes(128, 128, 64, 96), "");
  // For these weirc does not ask.
  EXPECT_EQ(planOfSizes(128, 128, 20, 20), "");
}

TEST_F(Cudnn, PlansAttentionOfSharedHeads) {
  for (int64_t keyHeads : {1, 2, 4})
    for (bool beside : {false, true}) {
      weir_cuda_attention desc = describeAttention(WEIR_BF16);
      desc.key_heads = keyHeads;
      setDistances(desc, beside);
      EXPECT_NE(planOf(desc), "") << keyHeads << ' ' << beside;
      desc.query_count = 1;
      setDistances(desc, beside);
      EXPECT_NE(planOf(desc), "") << keyHeads << ' ' << beside;
    }
}

TEST_F(Cudnn, ChoosesAlike) {
  weir_cuda_convolution desc = describe(WEIR_BF16);
  EXPECT_EQ(planOf(desc), planOf(desc));
}

TEST_F(Cudnn, RefusesOtherGpus) {
  weir_cuda_convolution desc = describe(WEIR_F16);
  std::string plan = planOf(desc), other = hopper;
  other.replace(other.find("132"), 3, "114");
  const Dnn &dnn = *loadDnn();
  auto load = [&](const std::string &profile, const std::string &text) {
    DnnPlace place = {};
    EXPECT_EQ(dnn.describe(dnn::deviceProperties, &place.device), 0);
    EXPECT_EQ(dnn.set(place.device, dnn::deviceJson, dnn::typeChar, int64_t(profile.size()),
                      profile.data()),
              0);
    EXPECT_EQ(dnn.finalize(place.device), 0);
    int64_t workspace = -1;
    DnnDescriptor loaded = loadPlan(dnn, place, text.data(), int64_t(text.size()), &workspace);
    if (loaded) {
      EXPECT_GE(workspace, 0);
      dnn.forget(loaded);
    }
    dnn.forget(place.device);
    return loaded != nullptr;
  };
  EXPECT_TRUE(load(hopper, plan));
  EXPECT_FALSE(load(other, plan));
  EXPECT_FALSE(load(hopper, plan.substr(0, plan.size() / 2)));
  std::string version = plan;
  version.replace(version.find("\"cudnnVersion\":") + 15, 5, "91800");
  EXPECT_FALSE(load(hopper, version));
}

TEST_F(Cudnn, SaysWhatIsWrong) {
  weir_cuda_convolution desc = describe(WEIR_F16);
  const char *why = nullptr;
  EXPECT_EQ(weir_cuda_plan_convolution(&desc, "{}", &why), nullptr);
  EXPECT_STREQ(why, "cuDNN does not take the profile");
  weir_cuda_convolution impossible = describe(WEIR_F16);
  impossible.groups = 5;
  EXPECT_EQ(weir_cuda_plan_convolution(&impossible, hopper.c_str(), &why), nullptr);
  EXPECT_STREQ(why, "cuDNN knows no plan for it without a GPU");
}

} // namespace
