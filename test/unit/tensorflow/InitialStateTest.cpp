//===- InitialStateTest.cpp - what a loader leaves in a session ----------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small SavedModels, written here with their variables, imported.
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/TensorFlowFrontend.h"
#include "compiler/frontend/tensorflow/saved_model.pb.h"
#include "runtime/checkpoint/bundle.h"

#include <filesystem>
#include <fstream>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace weir;
namespace fs = std::filesystem;

namespace {

constexpr int32_t kFloat = 1, kString = 7, kInt64 = 9;

weir_string view(std::string_view text) { return {text.data(), int64_t(text.size())}; }

rt::StoredShape shapeOf(const std::vector<int64_t> &dims) {
  rt::StoredShape shape;
  for (int64_t dim : dims)
    shape.dims[shape.rank++] = dim;
  return shape;
}

class InitialState : public ::testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("weir-initial-state-" + std::to_string(getpid()));
    fs::remove_all(folder);
    fs::create_directories(folder / "variables");
  }
  void TearDown() override { fs::remove_all(folder); }

  /// Begins the bundle.
  rt::BundleWriter &bundle() {
    if (!writer) {
      prefix = (folder / "variables" / "variables").string();
      writer = std::make_unique<rt::BundleWriter>();
      EXPECT_EQ(writer->open(view(prefix), nullptr), 0);
    }
    return *writer;
  }
  void add(const char *key, const std::vector<int64_t> &dims, const std::vector<float> &values) {
    EXPECT_EQ(bundle().add(view(key), kFloat, shapeOf(dims), values.data(), nullptr), 0);
  }

  /// A model of version two whose text is `nodes`, and the rest of its graph.
  void write(const std::string &nodes, const std::string &more = "", bool isText = true) {
    if (writer) {
      EXPECT_EQ(writer->finish(nullptr), 0);
      writer.reset();
    }
    std::string text = "meta_graphs { meta_info_def { tags: 'serve' } graph_def { " + nodes +
                       " versions { producer: 1087 } } " + more + " }";
    if (isText) {
      std::ofstream(folder / "saved_model.pbtxt") << text;
      return;
    }
    tf::proto::TextSavedModel model;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &model));
    std::ofstream(folder / "saved_model.pb", std::ios::binary) << model.SerializeAsString();
  }

  /// The imported module as text; empty where it was refused, with `problems`.
  std::string import() {
    mlir::MLIRContext context;
    DiagnosticSink sink;
    auto module = tensorFlowFrontend().import(context, folder.string(), {}, sink);
    problems.clear();
    for (const Diagnostic &diagnostic : sink.diagnostics())
      problems += diagnostic.str() + "\n";
    std::string text;
    llvm::raw_string_ostream out(text);
    if (module)
      module->print(out);
    return text;
  }

  fs::path folder;
  std::string prefix, problems;
  std::unique_ptr<rt::BundleWriter> writer;
};

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

std::string constant(const std::string &name, const std::string &type, const std::string &shape,
                     const std::string &values) {
  return "node { name: '" + name + "' op: 'Const' attr { key: 'dtype' value { type: " + type +
         " } } attr { key: 'value' value { tensor { dtype: " + type + " tensor_shape { " + shape +
         " } " + values + " } } } } ";
}

std::string variable(const std::string &name, const std::string &shape,
                     const std::string &shared = "") {
  return "node { name: '" + name + "' op: 'VarHandleOp' attr { key: 'shared_name' value { s: '" +
         (shared.empty() ? name : shared) +
         "' } } attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape "
         "{ " +
         shape + " } } } } ";
}

std::string assign(const std::string &name, const std::string &to, const std::string &value) {
  return "node { name: '" + name + "' op: 'AssignVariableOp' input: '" + to + "' input: '" + value +
         "' attr { key: 'dtype' value { type: DT_FLOAT } } } ";
}

std::string read(const std::string &name, const std::string &of) {
  return "node { name: '" + name + "' op: 'ReadVariableOp' input: '" + of +
         "' attr { key: 'dtype' value { type: DT_FLOAT } } } ";
}

/// The restore operation's own part: names and parts are those of `count` tensors.
std::string restore(int count, const std::string &names, const std::string &parts,
                    const std::string &types) {
  std::string size = "dim { size: " + std::to_string(count) + " }";
  return constant("file", "DT_STRING", "", "string_val: ''") +
         constant("names", "DT_STRING", size, names) + constant("parts", "DT_STRING", size, parts) +
         "node { name: 'restored' op: 'RestoreV2' input: 'file' input: 'names' input: 'parts' "
         "attr { key: 'dtypes' value { list { " +
         types + " } } } } ";
}

constexpr char kSaver[] = "saver_def { filename_tensor_name: 'file:0' restore_op_name: 'all' } ";

std::string signature(const std::string &output, const std::string &key = "serving_default") {
  return "signature_def { key: '" + key + "' value { outputs { key: 'y' value { name: '" + output +
         "' dtype: DT_FLOAT } } } } ";
}

const std::string kMutable =
    "node { name: 'table' op: 'MutableHashTableV2' attr { key: 'key_dtype' value { type: DT_INT64 "
    "} } attr { key: 'value_dtype' value { type: DT_FLOAT } } } ";

std::string lookUp(const std::string &name = "found") {
  return constant("key", "DT_INT64", "", "int64_val: 2") +
         constant("none", "DT_FLOAT", "", "float_val: -1") + "node { name: '" + name +
         "' op: 'LookupTableFindV2' input: 'table' input: 'key' input: 'none' attr { key: 'Tin' "
         "value { type: DT_INT64 } } attr { key: 'Tout' value { type: DT_FLOAT } } } ";
}

std::string insertion(const std::string &op, const std::string &keys, const std::string &values,
                      const std::string &name = "fill") {
  return "node { name: '" + name + "' op: '" + op + "' input: 'table' input: '" + keys +
         "' input: '" + values +
         "' attr { key: 'Tin' value { type: DT_INT64 } } attr { key: 'Tout' value { type: DT_FLOAT "
         "} } } ";
}

} // namespace

TEST_F(InitialState, PartsAreCutOutOfWholes) {
  add("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  write(variable("row", "dim { size: 1 } dim { size: 3 }") +
            variable("column", "dim { size: 2 } dim { size: 1 }") +
            restore(2, "string_val: 'w' string_val: 'w'",
                    "string_val: '2 3 1,1:-' string_val: '2 3 0,2:1,1'",
                    "type: DT_FLOAT type: DT_FLOAT") +
            assign("a", "row", "restored") + assign("b", "column", "restored:1") +
            "node { name: 'all' op: 'NoOp' input: '^a' input: '^b' } " + read("y", "row") +
            read("z", "column"),
        kSaver + signature("y:0") + signature("z:0", "z"));
  std::string module = import();
  EXPECT_TRUE(has(module, "dense<[[4.000000e+00, 5.000000e+00, 6.000000e+00]]>")) << problems;
  EXPECT_TRUE(has(module, "dense<[[2.000000e+00], [5.000000e+00]]>")) << module;
}

TEST_F(InitialState, PartsAreThoseThatWereStored) {
  rt::TensorSlice first = rt::TensorSlice::whole(2), second = rt::TensorSlice::whole(2);
  first.length[0] = 1;
  first.start[0] = 0;
  second.start[0] = 1;
  second.length[0] = 2;
  float values[] = {1, 2, 3, 4, 5, 6};
  ASSERT_EQ(bundle().addSlice(view("w"), kFloat, shapeOf({3, 2}), first, values, nullptr), 0);
  ASSERT_EQ(bundle().addSlice(view("w"), kFloat, shapeOf({3, 2}), second, values + 2, nullptr), 0);
  write(variable("part", "dim { size: 2 } dim { size: 2 }") +
            variable("whole", "dim { size: 3 } dim { size: 2 }") +
            variable("across", "dim { size: 2 } dim { size: 2 }") +
            restore(3, "string_val: 'w' string_val: 'w' string_val: 'w'",
                    "string_val: '3 2 1,2:0,2' string_val: '' string_val: '3 2 0,2:-'",
                    "type: DT_FLOAT type: DT_FLOAT type: DT_FLOAT") +
            assign("a", "part", "restored") + assign("b", "whole", "restored:1") +
            assign("c", "across", "restored:2") +
            "node { name: 'all' op: 'NoOp' input: '^a' input: '^b' input: '^c' } " +
            read("y", "part") + read("z", "whole") + read("x", "across"),
        kSaver + signature("y:0") + signature("z:0", "z") + signature("x:0", "x"));
  std::string module = import();
  EXPECT_TRUE(has(module, "dense<[[3.000000e+00, 4.000000e+00], [5.000000e+00, 6.000000e+00]]>"))
      << problems;
  EXPECT_TRUE(has(module, "dense<[[1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00], "
                          "[5.000000e+00, 6.000000e+00]]>"))
      << module;
  EXPECT_TRUE(has(module, "dense<[[1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]>"))
      << module;
}

TEST_F(InitialState, APartOfAnotherShapeIsRefused) {
  add("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  write(variable("row", "dim { size: 1 } dim { size: 3 }") +
            restore(1, "string_val: 'w'", "string_val: '5 3 1,1:-'", "type: DT_FLOAT") +
            assign("all", "row", "restored") + read("y", "row"),
        kSaver + signature("y:0"));
  EXPECT_EQ(import(), "");
  EXPECT_TRUE(has(problems, "error W0214: node \"row\" (VarHandleOp): its value \"w\": it is of "
                            "shape [2,3], and is asked for as part of one of shape [5,3]"))
      << problems;
}

TEST_F(InitialState, RestoredTablesKeepTheirEntries) {
  int64_t keys[] = {1, 2};
  ASSERT_EQ(bundle().add(view("t-keys"), kInt64, shapeOf({2}), keys, nullptr), 0);
  add("t-values", {2}, {10, 20});
  write(kMutable +
            restore(2, "string_val: 't-keys' string_val: 't-values'",
                    "string_val: '' string_val: ''", "type: DT_INT64 type: DT_FLOAT") +
            insertion("LookupTableImportV2", "restored", "restored:1", "all") + lookUp(),
        kSaver + signature("found:0"));
  std::string module = import();
  EXPECT_TRUE(has(module, "dense<[1, 2]> : tensor<2xi64>")) << problems;
  EXPECT_TRUE(has(module, "dense<[1.000000e+01, 2.000000e+01]>")) << module;
  EXPECT_TRUE(has(module, "parameters = array<i64: 0, 3>")) << module;
}

TEST_F(InitialState, LargeConstantsFillTables) {
  std::string keys, values;
  for (int i = 0; i < 200; ++i) {
    for (int k = 0; k < 8; ++k)
      keys += k == 0 ? "\\" + std::string(1, char('0' + (i >> 6 & 7))) + char('0' + (i >> 3 & 7)) +
                           char('0' + (i & 7))
                     : "\\000";
    values += "\\000\\000\\200\\077";
  }
  write(
      "node { name: 'table' op: 'HashTableV2' attr { key: 'key_dtype' value { type: DT_INT64 } } "
      "attr { key: 'value_dtype' value { type: DT_FLOAT } } } " +
          constant("keys", "DT_INT64", "dim { size: 200 }", "tensor_content: '" + keys + "'") +
          constant("values", "DT_FLOAT", "dim { size: 200 }", "tensor_content: '" + values + "'") +
          insertion("LookupTableImportV2", "keys", "values") + lookUp(),
      signature("found:0") + "signature_def { key: '__saved_model_init_op' value { outputs { key: "
                             "'__saved_model_init_op' value { name: 'fill' } } } } ",
      /*isText=*/false);
  std::string module = import();
  EXPECT_TRUE(has(module, "#weir.blob")) << problems;
  EXPECT_TRUE(has(module, "weir_kernel_table_insert")) << problems;
}

TEST_F(InitialState, TheInitOperationComesLast) {
  add("a", {}, {1});
  add("b", {}, {2});
  write(variable("a", "") + variable("b", "") + variable("c", "dim { size: 3 }") +
            restore(2, "string_val: 'a' string_val: 'b'", "string_val: '' string_val: ''",
                    "type: DT_FLOAT type: DT_FLOAT") +
            assign("set_a", "a", "restored") + assign("set_b", "b", "restored:1") +
            "node { name: 'all' op: 'NoOp' input: '^set_a' input: '^set_b' } " +
            constant("ten", "DT_FLOAT", "", "float_val: 10") +
            constant("three", "DT_INT32", "dim { size: 1 }", "int_val: 3") +
            "node { name: 'more' op: 'AssignAddVariableOp' input: 'b' input: 'ten' attr { key: "
            "'dtype' value { type: DT_FLOAT } } } "
            "node { name: 'tens' op: 'Fill' input: 'three' input: 'ten' attr { key: 'T' value { "
            "type: DT_FLOAT } } } " +
            assign("set_c", "c", "tens") +
            "node { name: 'init' op: 'NoOp' input: '^more' input: '^set_c' } " + read("ya", "a") +
            read("yb", "b") + read("yc", "c"),
        kSaver + signature("ya:0") + signature("yb:0", "b") + signature("yc:0", "c") +
            "collection_def { key: 'saved_model_main_op' value { node_list { value: 'init' } } } ");
  std::string module = import();
  EXPECT_TRUE(has(module, "dense<1.000000e+00> : tensor<f32>")) << problems;
  EXPECT_TRUE(has(module, "dense<1.200000e+01> : tensor<f32>")) << module << problems;
  EXPECT_TRUE(has(module, "dense<1.000000e+01> : tensor<3xf32>")) << module << problems;
}

TEST_F(InitialState, WhatOnlyARunKnowsIsAnErrorWhereItIsNeeded) {
  write(variable("a", "dim { size: 2 }") + variable("b", "") +
            constant("two", "DT_INT32", "dim { size: 1 }", "int_val: 2") +
            constant("ten", "DT_FLOAT", "", "float_val: 10") +
            "node { name: 'noise' op: 'RandomUniform' input: 'two' attr { key: 'T' value { type: "
            "DT_INT32 } } attr { key: 'dtype' value { type: DT_FLOAT } } } " +
            assign("set_a", "a", "noise") + assign("set_b", "b", "ten") +
            "node { name: 'init' op: 'NoOp' input: '^set_a' input: '^set_b' } " + read("ya", "a") +
            read("yb", "b"),
        signature("yb:0") + signature("ya:0", "a") +
            "collection_def { key: 'legacy_init_op' value { node_list { value: 'init' } } } ");
  std::string module = import();
  EXPECT_TRUE(has(module, "@serving_default")) << problems;
  EXPECT_FALSE(has(module, "@a(")) << module;
  EXPECT_TRUE(has(problems, "warning W0219: node \"a\" (VarHandleOp): its value in a new session "
                            "is not known: node \"noise\" (RandomUniform) computes it in a run"))
      << problems;
}

/// The graph of objects that is stored beside values.
static std::string objectGraph(const std::string &text) {
  tf::proto::TrackableObjectGraph graph;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &graph));
  return graph.SerializeAsString();
}

TEST_F(InitialState, ObjectsLeadToValuesThatTheGraphDoesNotRestore) {
  add("o/a", {}, {1});
  add("o/b", {}, {2});
  add("o/c", {}, {3});
  std::string objects = objectGraph(
      "nodes { } "
      "nodes { attributes { name: 'VARIABLE_VALUE' full_name: 'v' checkpoint_key: 'o/a' } } "
      "nodes { attributes { name: 'VARIABLE_VALUE' full_name: 'v' checkpoint_key: 'o/b' } } "
      "nodes { attributes { name: 'VARIABLE_VALUE' full_name: 'w' checkpoint_key: 'o/c' } } ");
  weir_string stored = view(objects);
  ASSERT_EQ(
      bundle().add(view("_CHECKPOINTABLE_OBJECT_GRAPH"), kString, shapeOf({}), &stored, nullptr),
      0);
  write(variable("v", "") + variable("v_1", "") + variable("w", "") +
            "node { name: 'call' op: 'StatefulPartitionedCall' input: 'v_1' input: 'v' "
            "attr { key: 'Tin' value { list { type: DT_RESOURCE type: DT_RESOURCE } } } "
            "attr { key: 'Tout' value { list { type: DT_FLOAT } } } "
            "attr { key: 'f' value { func { name: 'difference' } } } } " +
            read("yw", "w") +
            "library { function { signature { name: 'difference' input_arg { name: 'p' type: "
            "DT_RESOURCE } input_arg { name: 'q' type: DT_RESOURCE } output_arg { name: 'd' type: "
            "DT_FLOAT } } node_def { name: 'rp' op: 'ReadVariableOp' input: 'p' attr { key: "
            "'dtype' value { type: DT_FLOAT } } } node_def { name: 'rq' op: 'ReadVariableOp' "
            "input: 'q' attr { key: 'dtype' value { type: DT_FLOAT } } } node_def { name: 's' op: "
            "'Sub' input: 'rp:value:0' input: 'rq:value:0' attr { key: 'T' value { type: DT_FLOAT "
            "} } } ret { key: 'd' value: 's:z:0' } } }",
        signature("call:0") + signature("yw:0", "w") +
            "object_graph_def { concrete_functions { key: 'difference' value { bound_inputs: 2 "
            "bound_inputs: 1 } } } ",
        /*isText=*/false);
  std::string module = import();
  EXPECT_TRUE(has(module, "name = \"v\"") || has(module, "\"v\"")) << problems << module;
  EXPECT_TRUE(has(module, "dense<1.000000e+00>")) << module;
  EXPECT_TRUE(has(module, "dense<2.000000e+00>")) << module;
  EXPECT_TRUE(has(module, "dense<3.000000e+00>")) << module;
  EXPECT_EQ(problems, "");
}
