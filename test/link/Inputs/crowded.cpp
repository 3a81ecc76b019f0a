//===- crowded.cpp - a model beside LLVM and protobuf -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program links an LLVM and a protobuf of its own, and uses both around a
// run of the model.
//
//===----------------------------------------------------------------------===//

#include "digits.h"

#include <google/protobuf/descriptor.pb.h>
#include <llvm-c/Core.h>

#include <cstdio>

int main() {
  LLVMModuleRef module = LLVMModuleCreateWithName("beside");
  google::protobuf::FileDescriptorProto file;
  file.set_name("beside.proto");

  digits::Model model;
  weir::Status status = model.resize_image({1, 1, 8, 8});
  if (status)
    status = model.run();
  if (status)
    std::printf("probabilities: %zu\n", model.probabilities().size());
  else
    return std::puts(status.message()), 1;

  google::protobuf::FileDescriptorProto copy;
  if (!copy.ParseFromString(file.SerializeAsString()) || copy.name() != "beside.proto")
    return 1;
  LLVMDisposeModule(module);
  return std::puts("ok"), 0;
}
