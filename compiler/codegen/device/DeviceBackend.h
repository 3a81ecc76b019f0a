//===- DeviceBackend.h - a kind of device, to the compiler --------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that the compiler knows of a kind of device: its flag, what a usual one is
// like, what may be placed on it, how its kernels are computed, its code. A kind is
// a folder beside this one, and a line in compiler/driver/DeviceKinds.cpp; one of
// them is the host (DeviceKind::isHost). At run time it
// is the table of functions that its AcceleratorInfo::driver names
// (runtime/session/accelerator.h).
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_COMPILER_CODEGEN_DEVICE_DEVICEBACKEND_H
#define WEIR_COMPILER_CODEGEN_DEVICE_DEVICEBACKEND_H

#include "compiler/codegen/host/StepLowering.h"
#include "compiler/emit/DeviceKernel.h"
#include "compiler/emit/Forecast.h"
#include "compiler/emit/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "passes/analysis/DeviceKind.h"
#include <functional>
#include <optional>

namespace weir {

/// A device that code is tuned for, besides being for its kind.
struct DeviceProfile {
  std::string file; ///< for messages
  std::string text; ///< as the kind describes devices
};

/// How code for a kind's devices is to be.
struct DeviceCodeOptions {
  std::string prefix;                  ///< of all symbols, a C identifier
  std::string targets;                 ///< the flag's value; possibleInsteadOf has nothing to say
  std::string precision;               ///< --precision's value; empty: f32
  std::vector<DeviceProfile> profiles; ///< whyNotProfile has nothing to say
  int optLevel = 3;
  /// Told what each step on the way left: name, suffix of a file, text. May be
  /// empty.
  std::function<void(llvm::StringRef, llvm::StringRef, llvm::StringRef)> log;
  /// Told the least time of each kernel, by its name, as far as sizes are known. May be empty.
  std::function<void(llvm::StringRef, KernelForecast)> forecast;
  /// Told, of each kernel by its name, the functions of the device that do its work. May be empty:
  /// to read machine code takes time.
  std::function<void(llvm::StringRef, DeviceKernel)> code;
};

/// A pass as mlir-opt names it, and why it stands where it does.
struct DevicePass {
  const char *pass; ///< text of a pass on the module, options included
  const char *why;
};

/// Where in the pipeline a kind may have passes of its own.
enum class PipelineSlot {
  AfterLayout,     ///< on the whole graph, before it is placed
  BeforeKernelize, ///< on the functions of all devices (kindAround), before kernels are formed
};

class DeviceBackend : public DeviceKind {
public:
  // What users say.

  /// The flag that asks for code, and how its help names and explains its value.
  virtual llvm::StringRef flag() const = 0;
  virtual llvm::StringRef flagValue() const = 0;
  virtual llvm::StringRef flagHelp() const = 0;
  /// What the flag's value may be where `targets` is none; empty: it is one.
  virtual std::string possibleInsteadOf(llvm::StringRef targets) const = 0;
  /// The flag's value for who asks for a device and names no target.
  virtual llvm::StringRef usualTargets() const = 0;
  /// The environment variable by which a run requires its devices ("require"), or
  /// has the host do their work ("off").
  virtual llvm::StringRef variable() const = 0;

  /// How users name files that describe devices which code is tuned for.
  struct Profiles {
    llvm::StringRef flag; ///< empty: the kind has no such files
    llvm::StringRef help;
    llvm::StringRef outHelp; ///< of a run's FLAG-out, which writes what profileHere says
    llvm::StringRef form;    ///< what such a file is, for messages
  };
  virtual Profiles profiles() const { return {}; }
  /// What a file of this text lacks; empty: nothing.
  virtual std::string whyNotProfile(llvm::StringRef) const { return ""; }
  /// The description of this machine's first device. None: `why` says what is missing.
  virtual std::optional<std::string> profileHere(std::string &why) const {
    why = "devices of this kind are not described";
    return std::nullopt;
  }

  /// A device beside one host where no file names any, and the way between them.
  struct Usual {
    double flops, bandwidth; ///< a second
    double overhead;         ///< seconds a launch
    double linkBandwidth, linkLatency;
  };
  virtual Usual usual() const = 0;

  // Passes.

  /// What stands in a slot of every compilation, in order. A pass leaves alone what is not for
  /// devices of the kind; one that several kinds name runs once.
  virtual llvm::ArrayRef<DevicePass> passes(PipelineSlot) const { return {}; }

  // Code.

  /// Extensions of the host's processor, as LLVM names them, that kernels of the planned
  /// `module` need beside what the target is taken to have.
  virtual llvm::SmallVector<llvm::StringRef> requiredFeatures(mlir::ModuleOp) const { return {}; }
  /// Registers what `generate` translates from with a context's registry.
  virtual void registerDialects(mlir::DialectRegistry &registry) const = 0;
  /// Declares the functions of the kind's driver that its steps call, where `b`
  /// stands (declareFunction); in every module, of whatever devices.
  virtual void declareFunctions(mlir::OpBuilder &b, mlir::ModuleOp module) const = 0;
  /// Adds to `program` what the object has for the devices of this kind of the
  /// planned `module`, and to the module their form of the steps, which have the
  /// attribute weir_plan.accelerated; nothing where there are no such devices. Called before
  /// generateCpu, which asks the returned factory (maybe null) for the rewriters of
  /// such steps. Failure: said on the module's context.
  virtual mlir::FailureOr<StepRewriterFactory>
  generate(mlir::ModuleOp module, const DeviceCodeOptions &options, Program &program) const = 0;
};

/// As registerDeviceKind, for both tables.
bool registerDeviceBackend(const DeviceBackend &backend);
/// In the order in which they were registered. Thread-safe.
llvm::SmallVector<const DeviceBackend *> deviceBackends();

/// Asks each in turn for a step's rewriter.
StepRewriterFactory anyOf(std::vector<StepRewriterFactory> factories);

} // namespace weir

#endif // WEIR_COMPILER_CODEGEN_DEVICE_DEVICEBACKEND_H
