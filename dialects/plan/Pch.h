//===- Pch.h - Both dialects, for what stands above them --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reading the operations' classes takes a compiler longer than most files of
// passes and code generation do, so it is done once.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_DIALECTS_PLAN_PCH_H
#define WEIR_DIALECTS_PLAN_PCH_H

#include "dialects/plan/Plan.h"
#include "dialects/weir/Pch.h"
#include "dialects/weir/Weir.h"

#endif // WEIR_DIALECTS_PLAN_PCH_H
