//===- OneDnn.cpp - convolutions in oneDNN --------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/OneDnn.h"

#ifdef WEIR_HAVE_ONEDNN

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.hpp>

using namespace weir::tools;
using namespace dnnl;

namespace {

using Dims = memory::dims;
using Tag = memory::format_tag;

memory::desc describe(const Dims &dims, Tag tag) {
  return memory::desc(dims, memory::data_type::f32, tag);
}

class Convolution : public OneDnnConvolution {
public:
  Convolution(const ConvolutionShape &shape, const HostTensor &image, std::vector<float> filter,
              std::vector<float> bias)
      : shape(shape) {
    int64_t pad = shape.window / 2, results = shape.results();
    // What is left over at the end is not padded.
    int64_t after = (results - 1) * shape.stride + shape.window - shape.size - pad;
    Dims input{1, shape.channels, shape.size, shape.size};
    Dims weights{shape.filters, shape.channels, shape.window, shape.window};
    Dims output{1, shape.filters, results, results};
    convolution_forward::desc description(
        prop_kind::forward_inference, algorithm::convolution_direct, describe(input, Tag::any),
        describe(weights, Tag::any), describe({shape.filters}, Tag::x), describe(output, Tag::any),
        {shape.stride, shape.stride}, {pad, pad}, {after, after});
    post_ops relu;
    relu.append_eltwise(1.0f, algorithm::eltwise_relu, 0.0f, 0.0f);
    primitive_attr attributes;
    attributes.set_post_ops(relu);
    convolution_forward::primitive_desc plan(description, attributes, device);
    primitive = convolution_forward(plan);
    std::string pixels = image.bytes;
    source = arranged(describe(input, Tag::nhwc), pixels.data(), plan.src_desc());
    memory packed = arranged(describe(weights, Tag::oihw), filter.data(), plan.weights_desc());
    biasValues = std::move(bias);
    memory shift(describe({shape.filters}, Tag::x), device, biasValues.data());
    target = memory(plan.dst_desc(), device);
    arguments = {{DNNL_ARG_SRC, source},
                 {DNNL_ARG_WEIGHTS, packed},
                 {DNNL_ARG_BIAS, shift},
                 {DNNL_ARG_DST, target}};
  }

  void run() override {
    primitive.execute(stream_, arguments);
    stream_.wait();
  }

  HostTensor result() override {
    int64_t results = shape.results();
    HostTensor tensor = makeTensor(WEIR_F32, {1, results, results, shape.filters});
    memory plain(describe({1, shape.filters, results, results}, Tag::nhwc), device,
                 tensor.bytes.data());
    reorder(target, plain).execute(stream_, target, plain);
    stream_.wait();
    return tensor;
  }

private:
  memory arranged(const memory::desc &from, void *data, const memory::desc &to) {
    memory plain(from, device, data), made(to, device);
    reorder(plain, made).execute(stream_, plain, made);
    stream_.wait();
    return made;
  }

  ConvolutionShape shape;
  engine device{engine::kind::cpu, 0};
  stream stream_{device};
  primitive primitive;
  std::vector<float> biasValues;
  memory source, target;
  std::unordered_map<int, memory> arguments;
};

} // namespace

std::unique_ptr<OneDnnConvolution> OneDnnConvolution::create(const ConvolutionShape &shape,
                                                             int threads, const HostTensor &image,
                                                             const std::vector<float> &filter,
                                                             const std::vector<float> &bias,
                                                             std::string &error) {
  // Debian's build runs on OpenMP, which has read its environment by now.
  using SetThreads = void (*)(int);
  if (auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads")))
    set(threads);
  return std::make_unique<Convolution>(shape, image, filter, bias);
}

std::string OneDnnConvolution::version() {
  const version_t *found = dnnl::version();
  return std::to_string(found->major) + "." + std::to_string(found->minor) + "." +
         std::to_string(found->patch);
}

#else

using namespace weir::tools;

std::unique_ptr<OneDnnConvolution> OneDnnConvolution::create(const ConvolutionShape &, int,
                                                             const HostTensor &,
                                                             const std::vector<float> &,
                                                             const std::vector<float> &,
                                                             std::string &error) {
  error = "this weir-bench was built without libdnnl-dev";
  return nullptr;
}

std::string OneDnnConvolution::version() { return "none"; }

#endif
