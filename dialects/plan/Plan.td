//===- Plan.td - the weir_plan dialect -*- tablegen -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_PLAN_TD
#define WEIR_PLAN_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def WeirPlan_Dialect : Dialect {
  let name = "weir_plan";
  let cppNamespace = "::weir::plan";
  let summary = "what a device does in a step";
  let description = [{
    Kernels, and step functions that launch them. A step function stands first
    on tensors (`launch`), is then given an order, and then buffers (`run` on
    memrefs); last, buffers of fixed size get offsets in the device's arena.
    Buffers are contiguous and row-major. Shape arithmetic and control flow in
    between are plain arith and scf, and become native code with the launches.
  }];
  let dependentDialects = ["::weir::WeirDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"];
  let useDefaultAttributePrinterParser = 1;
}

// How an operation treats buffers: PlanFacts.h says what each means.
class Plan_Fact<string name> : NativeOpTrait<name> {
  let cppNamespace = "::weir::plan::traits";
}
def OwnsResults : Plan_Fact<"OwnsResults">;
def LivesToTheEnd : Plan_Fact<"LivesToTheEnd">;
def GivesOwnMemory : Plan_Fact<"GivesOwnMemory">;
def UsesAtOnce : Plan_Fact<"UsesAtOnce">;
def UsesInOrder : Plan_Fact<"UsesInOrder">;
def OnlyReads : Plan_Fact<"OnlyReads">;

class Plan_Op<string mnemonic, list<Trait> traits = []>
    : Op<WeirPlan_Dialect, mnemonic, traits>;
def Plan_AnyTensor : Type<CPred<"::llvm::isa<::mlir::TensorType>($_self)">, "tensor", "::mlir::TensorType">;
def Plan_Token : Type<CPred<"::llvm::isa<::weir::TokenType>($_self)">, "token", "::weir::TokenType">,
                 BuildableType<"::weir::TokenType::get($_builder.getContext())">;

//===----------------------------------------------------------------------===//
// How a kernel is computed
//===----------------------------------------------------------------------===//

class Plan_ScheduleCase<string symbol, int value, string name> : I32EnumAttrCase<symbol, value, name>;
def Plan_ScheduleKind : I32EnumAttr<"ScheduleKind", "the strategy that computes a kernel", [
    Plan_ScheduleCase<"Loops", 0, "loops">,
    Plan_ScheduleCase<"Gemm", 1, "gemm">,
    Plan_ScheduleCase<"GemmAmxBf16", 2, "gemm_amx_bf16">,
    Plan_ScheduleCase<"GemmInt8", 3, "gemm_int8">,
    Plan_ScheduleCase<"WeightOnly", 4, "weight_only">,
    Plan_ScheduleCase<"Convolution", 5, "convolution">,
    Plan_ScheduleCase<"Winograd", 6, "winograd">,
    Plan_ScheduleCase<"Attention", 7, "attention">,
    Plan_ScheduleCase<"RowReduction", 8, "row_reduction">,
    Plan_ScheduleCase<"Lanes", 9, "lanes">,
    Plan_ScheduleCase<"Scan", 10, "scan">,
    Plan_ScheduleCase<"Transposition", 11, "transposition">,
    Plan_ScheduleCase<"Scatter", 12, "scatter">,
    Plan_ScheduleCase<"Sort", 13, "sort">,
    Plan_ScheduleCase<"PadBorder", 14, "pad_border">,
    Plan_ScheduleCase<"DepthFirst", 15, "depth_first">,
    Plan_ScheduleCase<"GemmBf16", 16, "gemm_bf16">,
    Plan_ScheduleCase<"Trees", 17, "trees">,
    Plan_ScheduleCase<"ByteTable", 18, "byte_table">]> {
  let cppNamespace = "::weir::plan";
  let genSpecializedAttr = 0;
}

def Plan_ScheduleAttr : AttrDef<WeirPlan_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "how a kernel is computed";
  let description = [{
    The kind of the strategy, and its parameters: `<gemm, {grain = 3 : i64,
    parts = array<i64: 140, 32>, tile = array<i64: 14, 2, 16>}>`. Which parameters a
    kind must and may have, and of what form they are, `dialects/plan/Schedule.h` says;
    others are refused.
  }];
  let parameters = (ins EnumParameter<Plan_ScheduleKind>:$kind,
                        OptionalParameter<"::mlir::DictionaryAttr">:$parameters);
  let assemblyFormat = "`<` $kind (`,` $parameters^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The parameter's value, where the schedule has it.
    template <typename T>
    std::optional<typename ScheduleParameter<T>::Value> find(ScheduleParameter<T> parameter) const {
      ::mlir::DictionaryAttr all = getParameters();
      ::mlir::Attribute value = all ? all.get(parameter.name) : ::mlir::Attribute();
      if (!value)
        return std::nullopt;
      return ScheduleParameter<T>::read(value);
    }
    /// The same; of a parameter that the schedule lacks no sizes, 0, false or no text.
    template <typename T>
    typename ScheduleParameter<T>::Value operator[](ScheduleParameter<T> parameter) const {
      return find(parameter).value_or(typename ScheduleParameter<T>::Value());
    }
    template <typename T> bool has(ScheduleParameter<T> parameter) const {
      return getParameters() && getParameters().contains(parameter.name);
    }
  }];
}

//===----------------------------------------------------------------------===//
// Kernels, and launches of them on tensors
//===----------------------------------------------------------------------===//

def Plan_KernelOp : Plan_Op<"kernel", [IsolatedFromAbove, Symbol, SingleBlock]> {
  let summary = "operations that one generated function computes";
  let description = [{
    The body holds weir operations on tensors: block arguments are the buffers
    that the kernel reads, the operands of `return` those that it writes.
    `schedule` says how it is computed, and how its range is cut.
    `nodes` names the model's nodes that it serves, for reports and traces.
    `extents`: of each buffer the sizes of the one that it is a part of, none where it is
    a whole; without it all are. `in_place`: of each result the number of the argument
    that it is written over, -1 where it has a place of its own; without it all have.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_ScheduleAttr:$schedule, StrAttr:$nodes,
                       OptionalAttr<ArrayAttr>:$extents, OptionalAttr<DenseI64ArrayAttr>:$in_place);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = "$sym_name `schedule` $schedule `nodes` $nodes attr-dict-with-keyword $body";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "ScheduleAttr":$schedule,
                                 "::llvm::StringRef":$nodes)>];
  let extraClassDeclaration = [{
    /// The argument that the result of that number is written over; none: it has its own place.
    std::optional<unsigned> overwritten(unsigned result = 0);
    /// The result that is written over that argument; none: it stays as it is.
    std::optional<unsigned> overwriterOf(unsigned argument);
  }];
  let hasVerifier = 1;
}
def Plan_ReturnOp : Plan_Op<"return", [Pure, Terminator, ReturnLike, HasParent<"KernelOp">]> {
  let summary = "the kernel's results";
  let arguments = (ins Variadic<Plan_AnyTensor>:$results);
  let assemblyFormat = "attr-dict $results `:` type($results)";
}
def Plan_LaunchOp : Plan_Op<"launch", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one application of a kernel, on tensors";
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Plan_AnyTensor>:$inputs);
  let results = (outs Variadic<Plan_AnyTensor>:$results);
  let assemblyFormat = "$kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, results)";
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

def Plan_FeedOp : Plan_Op<"feed", [Pure, LivesToTheEnd]> {
  let summary = "the caller's buffer of feed `index`";
  let arguments = (ins I64Attr:$index);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$index attr-dict `:` type($result)";
}
def Plan_BlobOp : Plan_Op<"blob", [Pure, LivesToTheEnd, GivesOwnMemory]> {
  let summary = "a constant, in the object's read-only data";
  let arguments = (ins AnyAttr:$value);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "`(` $value `)` attr-dict `:` type($result)";
}
def Plan_BufferOp : Plan_Op<"buffer", [MemoryEffects<[MemAlloc]>, GivesOwnMemory]> {
  let summary = "a buffer of fixed size in the device's arena";
  let description = [{`offset` in bytes once memory has been planned.}];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($result)";
}
def Plan_AllocOp : Plan_Op<"alloc", [MemoryEffects<[MemAlloc]>, OwnsResults, GivesOwnMemory]> {
  let summary = "a buffer whose size is known at run time";
  let arguments = (ins Variadic<Index>:$sizes);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "`(` $sizes `)` attr-dict `:` type($result)";
}
def Plan_FreeOp : Plan_Op<"free", [MemoryEffects<[MemFree]>]> {
  let summary = "ends the life of a buffer made by alloc, library or receive";
  let arguments = (ins AnyMemRef:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}
def Plan_ViewOp : Plan_Op<"view", [Pure]> {
  let summary = "the same bytes under another shape";
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$sizes);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$source `[` $sizes `]` attr-dict `:` type($source) `to` type($result)";
}
def Plan_PaddedBytesOp : Plan_Op<"padded_bytes", [Pure]> {
  let summary = "bytes that a buffer of these sizes takes in a pool";
  let description = [{
    Padded so that what lies behind it is aligned as in an arena, and one granule at least.
    No more than `mostPooled` (Buffers.h), so that as many as a pool has can be added up.
  }];
  let arguments = (ins TypeAttr:$buffer, Variadic<Index>:$sizes);
  let results = (outs Index:$bytes);
  let assemblyFormat = "$buffer `(` $sizes `)` attr-dict";
  let hasFolder = 1;
}
def Plan_PieceOp : Plan_Op<"piece", [Pure]> {
  let summary = "a buffer that lies `offset` bytes behind the begin of memory that others have, too";
  let description = [{
    Those whose lives meet lie apart: it is a buffer of its own, and no view.
  }];
  let arguments = (ins AnyMemRef:$pool, Index:$offset, Variadic<Index>:$sizes);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$pool `at` $offset `(` $sizes `)` attr-dict `:` type($pool) `to` type($result)";
}
def Plan_CopyOp : Plan_Op<"copy", [MemoryEffects<[MemRead, MemWrite]>, UsesInOrder, UsesAtOnce]> {
  let summary = "copies all bytes of `source` to `target`";
  let arguments = (ins AnyMemRef:$source, AnyMemRef:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `,` type($target)";
}
def Plan_LoadOp : Plan_Op<"load", [MemoryEffects<[MemRead]>, UsesInOrder, UsesAtOnce, OnlyReads]> {
  let summary = "one element, in compute form (signless, i1)";
  let arguments = (ins AnyMemRef:$buffer, Variadic<Index>:$indices);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$buffer `[` $indices `]` attr-dict `:` type($buffer) `to` type($result)";
}
def Plan_StoreOp : Plan_Op<"store", [MemoryEffects<[MemWrite]>, UsesInOrder, UsesAtOnce]> {
  let summary = "writes one element, given in compute form";
  let arguments = (ins AnyType:$value, AnyMemRef:$buffer, Variadic<Index>:$indices);
  let assemblyFormat = "$value `to` $buffer `[` $indices `]` attr-dict `:` type($value) `,` type($buffer)";
}
def Plan_FetchOp : Plan_Op<"fetch", [MemoryEffects<[MemAlloc, MemWrite]>, LivesToTheEnd]> {
  let summary = "where fetch `index`, of the given sizes, is to be written";
  let arguments = (ins I64Attr:$index, Variadic<Index>:$sizes);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$index `(` $sizes `)` attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

def Plan_RunOp : Plan_Op<"run", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>,
                                DeclareOpInterfaceMethods<SymbolUserOpInterface>, UsesInOrder,
                                UsesAtOnce]> {
  let summary = "runs a kernel over [0, range) on the device's threads";
  let description = [{`grain`: no more threads take part than there are multiples of it.}];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Index:$range, I64Attr:$grain,
                       Variadic<AnyMemRef>:$inputs, Variadic<AnyMemRef>:$outputs);
  let assemblyFormat = [{
    $kernel `range` $range `grain` $grain `reads` `(` $inputs `:` type($inputs) `)`
    `writes` `(` $outputs `:` type($outputs) `)` attr-dict
  }];
}
def Plan_LibraryOp : Plan_Op<"library", [MemoryEffects<[MemRead, MemAlloc, MemWrite]>, OwnsResults]> {
  let summary = "calls a weir_library_fn";
  let description = [{
    Results whose memref type is static are written into `targets` (in order);
    the callee allocates the others, which the step frees.
  }];
  let arguments = (ins StrAttr:$callee, Variadic<AnyMemRef>:$inputs, DenseI64ArrayAttr:$parameters);
  let results = (outs Variadic<AnyMemRef>:$results);
  let assemblyFormat = "$callee `(` $inputs `)` attr-dict `:` functional-type($inputs, results)";
}
def Plan_RequireOp : Plan_Op<"require", [MemoryEffects<[MemWrite]>]> {
  let summary = "ends the step with an error unless `condition` holds";
  let arguments = (ins I1:$condition, StrAttr:$node, StrAttr:$kind, StrAttr:$message, I64Attr:$code, Variadic<AnyType>:$values);
  let assemblyFormat = "$condition `,` $node `,` $kind `,` $message `code` $code (`(` $values^ `:` type($values) `)`)? attr-dict";
}
def Plan_VariableReadOp : Plan_Op<"variable_read", [MemoryEffects<[MemRead]>, LivesToTheEnd, GivesOwnMemory]> {
  let summary = "the value of session slot `slot`, alive until the run ends";
  let arguments = (ins I64Attr:$slot, StrAttr:$node);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$slot `,` $node attr-dict `:` type($result)";
}
def Plan_VariableAssignOp : Plan_Op<"variable_assign", [MemoryEffects<[MemWrite]>, UsesAtOnce]> {
  let summary = "copies `value` into session slot `slot`";
  let arguments = (ins I64Attr:$slot, StrAttr:$node, AnyMemRef:$value);
  let assemblyFormat = "$slot `,` $node `,` $value attr-dict `:` type($value)";
}
def Plan_SendOp : Plan_Op<"send", [MemoryEffects<[MemRead, MemWrite]>, UsesInOrder, OnlyReads]> {
  let summary = "sends a buffer (or nothing but the event) over `edge`";
  let description = [{
    `kept`: the buffer stays as it is until an `await_sent` that names it, or the
    run's end. Otherwise it may be written at once.
  }];
  let arguments = (ins I64Attr:$edge, Index:$iteration, Variadic<AnyMemRef>:$value, UnitAttr:$kept);
  let assemblyFormat = "$edge `,` $iteration (`,` $value^ `:` type($value))? (`kept` $kept^)? attr-dict";
}
def Plan_AwaitSentOp : Plan_Op<"await_sent", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until no buffer that the step has sent is read any more";
  let description = [{The step is suspended until then. `buffers` are those whose lives end here at the earliest.}];
  let arguments = (ins Variadic<AnyMemRef>:$buffers);
  let assemblyFormat = "$buffers `:` type($buffers) attr-dict";
}
def Plan_ReceiveOp : Plan_Op<"receive", [MemoryEffects<[MemRead, MemWrite, MemAlloc]>, OwnsResults, GivesOwnMemory]> {
  let summary = "waits for `edge`; the step is suspended until it is there";
  let arguments = (ins I64Attr:$edge, Index:$iteration);
  let results = (outs Optional<AnyMemRef>:$result);
  let assemblyFormat = "$edge `,` $iteration attr-dict (`:` type($result)^)?";
}

//===----------------------------------------------------------------------===//
// What devices of one task compute together
//===----------------------------------------------------------------------===//

def Plan_HasCollectiveOp : Plan_Op<"has_collective", [Pure]> {
  let summary = "whether its devices compute collective `collective` together in this session";
  let description = [{
    The same on all of them, in all runs' steps: which side of a conditional a run
    takes. A tensor, and a scalar of the step once there are buffers. False in the
    host's form of a step.
  }];
  let arguments = (ins I64Attr:$collective);
  let results = (outs AnyTypeOf<[Plan_AnyTensor, I1]>:$result);
  let assemblyFormat = "$collective attr-dict `:` type($result)";
}
def Plan_AllReduceOp : Plan_Op<"all_reduce", [MemoryEffects<[MemRead, MemWrite]>, UsesInOrder]> {
  let summary = "one device's part in a reduction of values of several devices";
  let description = [{
    `collective` is the number of an entry of the module's
    `weir_plan.collectives`, which says which devices and what they compute. Each
    of them has one such operation and gives `value`; all, or one of them, get the
    reduction of all. On tensors, and, once there are buffers, into `target`. The step goes on:
    `value` is read and `target` written until `await_reduce`.
  }];
  let arguments = (ins I64Attr:$collective, AnyTypeOf<[Plan_AnyTensor, AnyMemRef]>:$value, Optional<AnyMemRef>:$target);
  let results = (outs Optional<Plan_AnyTensor>:$result);
  let assemblyFormat = "$collective `,` $value (`to` $target^ `:` type($target))? attr-dict `:` type($value) (`->` type($result)^)?";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Values of an accelerator that wait in the host's memory
//===----------------------------------------------------------------------===//

def Plan_SwapOutOp : Plan_Op<"swap_out", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, UsesInOrder, OnlyReads]> {
  let summary = "begins to copy a value of fixed size to the host's memory";
  let description = [{
    On tensors, and, once there are buffers, on the value's buffer, which may be
    read meanwhile. What overwrites its bytes stands behind an `await_swap` of the
    token, or the end of the step. `slot` numbers the places in the host's memory,
    from 0 in each step function.
  }];
  let arguments = (ins AnyTypeOf<[Plan_AnyTensor, AnyMemRef]>:$value, OptionalAttr<I64Attr>:$slot);
  let results = (outs Plan_Token:$saved);
  let assemblyFormat = "$value (`slot` $slot^)? attr-dict `:` type($value)";
  let hasVerifier = 1;
}
def Plan_SwapInOp : Plan_Op<"swap_in", [AttrSizedResultSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, UsesInOrder]> {
  let summary = "begins to copy back what a swap_out saved";
  let description = [{
    On tensors the result is the value. Once there are buffers it is written into
    `target`, of the saved buffer's type; what uses that stands behind an
    `await_swap` of `copied`. It begins when the work before it is done. A value
    may be copied back several times, in the block where it was saved.
  }];
  let arguments = (ins Plan_Token:$saved, Optional<AnyMemRef>:$target);
  let results = (outs Optional<Plan_AnyTensor>:$value, Optional<Plan_Token>:$copied);
  let assemblyFormat = "$saved (`to` $target^ `:` type($target))? attr-dict (`->` type($value)^)? (`copied` type($copied)^)?";
  let hasVerifier = 1;
}
def Plan_AwaitReduceOp : Plan_Op<"await_reduce", [MemoryEffects<[MemRead, MemWrite]>, UsesInOrder]> {
  let summary = "what is behind it finds what collective `collective` has reduced";
  let description = [{
    The step is suspended until all of the collective's devices have come; then the device's queue
    of work waits. Nothing is waited for where the run has not come by the `all_reduce`, or has
    waited since.
  }];
  let arguments = (ins I64Attr:$collective);
  let assemblyFormat = "$collective attr-dict";
}
def Plan_AwaitSwapOp : Plan_Op<"await_swap", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "lets the work behind it wait for a copy between accelerator and host";
  let description = [{The host does not wait: the accelerator's queue of work does.}];
  let arguments = (ins Plan_Token:$copy);
  let assemblyFormat = "$copy attr-dict";
  let hasVerifier = 1;
}

#endif // WEIR_PLAN_TD
