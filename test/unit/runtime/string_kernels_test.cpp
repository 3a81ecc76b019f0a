//===- string_kernels_test.cpp - kernels of strings and tables ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kernel_call.h"
#include "kernels/hashes.h"
#include "kernels/lookup_table.h"
#include "kernels/unicode.h"

#include "weir/kernels.h"

#include <map>
#include <random>

using namespace weir::rt;
using namespace weir::rt::test;

namespace {

using Texts = std::vector<std::string>;
using Sizes = std::vector<int64_t>;

/// A string tensor that points into what it keeps.
struct Strings {
  Strings(Texts values, Sizes dims) : values(std::move(values)), dims(std::move(dims)) {
    for (const std::string &value : this->values)
      strings.push_back({value.data(), int64_t(value.size())});
  }
  operator weir_tensor() { return dense(strings, WEIR_STRING, dims); }
  Texts values;
  Sizes dims;
  std::vector<weir_string> strings;
};

Strings one(std::string text) { return Strings({std::move(text)}, {}); }

//===----------------------------------------------------------------------===//
// Regular expressions: what RE2 answers
//===----------------------------------------------------------------------===//

TEST(Regex, ReplacesAndMatchesAsRe2Does) {
  struct Case {
    const char *text, *pattern, *with, *all, *first;
    int matches;
  };
  static const Case cases[] = {
      {"abcabc", "b", "[\1340]", "a[b]ca[b]c", "a[b]cabc", 0},
      {"aaa", "a*", "x", "x", "x", 1},
      {"baac", "a*", "x", "xbxcx", "xbaac", 0},
      {"baac", "a*\077", "x", "xbxaxaxcx", "xbaac", 0},
      {"abab", "(a|ab)(c|bcd)*", "<\1341>", "<a>b<a>b", "<a>bab", 0},
      {"foo.bar", "(\134w+)\134.(\134w+)", "\1342.\1341", "bar.foo", "bar.foo", 1},
      {"a1b22", "\134d+", "#", "a#b#", "a#b22", 0},
      {"a1b22", "\134D", ".", ".1.22", ".1b22", 0},
      {"x y\011z", "\134s", "_", "x_y_z", "x_y\011z", 0},
      {"\303\204\303\266\303\234", "[[:alpha:]]", "L", "\303\204\303\266\303\234",
       "\303\204\303\266\303\234", 0},
      {"\303\204\303\266\303\234x", "\134pL", "L", "LLLL", "L\303\266\303\234x", 0},
      {"\303\204\303\266\303\234x", "(\077i)\303\244", "E", "E\303\266\303\234x",
       "E\303\266\303\234x", 0},
      {"stra\303\237e", "\303\237", "ss", "strasse", "strasse", 0},
      {"\316\261\316\262\316\263", "\134p{Greek}+", "G", "G", "G", 1},
      {"aXbX", "(\077i)x", "-", "a-b-", "a-bX", 0},
      {"hello world", "\134bw", "W", "hello World", "hello World", 0},
      {"hello", "\134Bl", "L", "heLLo", "heLlo", 0},
      {"ab\012cd", "^c", "X", "ab\012cd", "ab\012cd", 0},
      {"ab\012cd", "(\077m)^c", "X", "ab\012Xd", "ab\012Xd", 0},
      {"ab\012cd", "b$", "X", "ab\012cd", "ab\012cd", 0},
      {"ab\012cd", "(\077m)b$", "X", "aX\012cd", "aX\012cd", 0},
      {"ab\012cd", "b.c", "X", "ab\012cd", "ab\012cd", 0},
      {"ab\012cd", "(\077s)b.c", "X", "aXd", "aXd", 0},
      {"aaaa", "a{2}", "b", "bb", "baa", 0},
      {"aaaaa", "a{2,3}", "b", "bb", "baa", 0},
      {"aaaaa", "a{2,}\077", "b", "bba", "baaa", 1},
      {"aaaaa", "(a{2}){2}", "b", "ba", "ba", 0},
      {"a{2", "a{2", "q", "q", "q", 1},
      {"a-b]c", "[]-]", "_", "a_b_c", "a_b]c", 0},
      {"a^b", "[a^]", "_", "__b", "_^b", 0},
      {"abc", "[^b]", "_", "_b_", "_bc", 0},
      {"tab\011here", "\134t", "\134\134t", "tab\134there", "tab\134there", 0},
      {"x", "(x)|(y)", "[\1341\1342]", "[x]", "[x]", 1},
      {"xy", "(x)(\077:y)(z)\077", "\1340-\1342", "xy-", "xy-", 1},
      {"", "^$", "e", "e", "e", 1},
      {"", "x*", "e", "e", "e", 1},
      {"a\351\377", ".", "d", "d\351\377", "d\351\377", 0},
      {"a\377b", ".", "d", "d\377d", "d\377b", 0},
      {"a\377b", "\134C", "d", "ddd", "d\377b", 0},
      {"aaa", "^a", "b", "baa", "baa", 0},
      {"Q.E", "\134Q.\134E", "!", "Q!E", "Q!E", 0},
      {"0x1F", "\134x31", "one", "0xoneF", "0xoneF", 0},
      {"\303\251", "\134x{e9}", "e", "e", "e", 1},
      {"ab", "(\077U)a.*", "x", "xb", "xb", 1},
      {"aabb", "(\077P<n>a+)(b)", "\1342\1341", "baab", "baab", 0},
      {"a.b.c", ".", "\1340\1340", "aa..bb..cc", "aa.b.c", 0},
      {"K k", "(\077i)k", "q", "q q", "q k", 0},
      {"\305\277 s S", "(\077i)s", "z", "z z z", "z s S", 0},
      {"abc", "(\077-i)B", "x", "abc", "abc", 0},
      {"abc", "(\077i:B)C", "x", "abc", "abc", 0},
      {"abC", "(\077i:B)C", "x", "ax", "ax", 0},
      {"aaa", "(a)(a)\077(a)\077(a)\077", "\1344\1343", "a", "a", 1},
      {"ab12", "[^\134d]", "_", "__12", "_b12", 0},
      {"ab12_", "[\134W\134d]", "_", "ab___", "ab_2_", 0},
      {"zzz", "z{0,2}", "y", "yy", "yz", 0},
      {"zzz", "z{0}", "y", "yzyzyzy", "yzzz", 0},
      {"a\013b", "[[:space:]]", "S", "aSb", "aSb", 0},
      {"a\013b", "\134s", "S", "a\013b", "a\013b", 0},
      {"a b", "\134x20", "_", "a_b", "a_b", 0},
      {"\346\227\245\346\234\254\350\252\236", "\346\234\254", "b", "\346\227\245b\350\252\236",
       "\346\227\245b\350\252\236", 0},
      {"\346\227\245\346\234\254\350\252\236", ".", "c", "ccc", "c\346\234\254\350\252\236", 0},
      {"aXb", "[A-Z]", "\1340\1340", "aXXb", "aXXb", 0},
      {"ab", "(|a)b", "<\1341>", "<a>", "<a>", 1},
      {"ab", "(|a)*", "x", "xaxbx", "xab", 0},
      {"ab", "(a|b)*\077", "x", "xaxbx", "xab", 1},
      {"foobar", "foo(bar)\077$", "\1341", "bar", "bar", 1},
      {"aa", "(a*)+", "<\1341>", "<aa>", "<aa>", 1},
      {"aa", "(a*)*", "<\1341>", "<aa>", "<aa>", 1},
      {"aab", "(\077:a\077)*b", "x", "x", "x", 1},
      {"12:34", "(\134d\134d):(\134d\134d)", "\1342\134\134\1341", "34\13412", "34\13412", 1},
      {"a", "a", "\1341", "a", "a", 1},
      {"a", "(a)", "\1342", "a", "a", 1},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(std::string(c.pattern) + " in " + c.text);
    Strings text = one(c.text), pattern = one(c.pattern), with = one(c.with);
    Call all(weir_kernel_regex_replace, {text, pattern, with}, {WEIR_STRING}, {1});
    ASSERT_EQ(all.code, WEIR_OK) << all.message;
    EXPECT_EQ(all.results[0].strings, Texts{c.all});
    Call first(weir_kernel_regex_replace, {text, pattern, with}, {WEIR_STRING}, {0});
    EXPECT_EQ(first.results[0].strings, Texts{c.first});
    Call match(weir_kernel_regex_full_match, {text, pattern}, {WEIR_BOOL}, {});
    EXPECT_EQ(match.results[0].bytes[0], c.matches);
  }
}

TEST(Regex, RefusesWhatIsNoPattern) {
  for (const char *pattern :
       {"(",       "a)",       "[a",    "*a",      "a**",       "a{1001}", "\1341",
        "\1348",   "a\134",    "[z-a]", "(\077<n", "(\077z)",   "\134pX",  "[[:foo:]]",
        "x{2}{3}", "(\077=a)", "\134Z", "a{2,1}",  "[a-\134d]", "\134y"}) {
    Strings text = one("a"), bad = one(pattern);
    Call call(weir_kernel_regex_full_match, {text, bad}, {WEIR_BOOL}, {});
    EXPECT_EQ(call.code, WEIR_INVALID_ARGUMENT) << pattern;
    EXPECT_NE(call.message.find("is no pattern"), std::string::npos) << call.message;
  }
}

TEST(Regex, BoundsItsWork) {
  // Exponential for a matcher that backtracks.
  std::string text(64, 'a');
  Strings data = one(text), nested = one("(a*)*(a*)*(a*)*b");
  Call linear(weir_kernel_regex_full_match, {data, nested}, {WEIR_BOOL}, {});
  EXPECT_EQ(linear.results[0].bytes[0], 0);
  Strings huge = one("((a{100}){100}){100}"), deep = one(std::string(5000, '('));
  Call large(weir_kernel_regex_full_match, {data, huge}, {WEIR_BOOL}, {});
  EXPECT_EQ(large.code, WEIR_INVALID_ARGUMENT);
  Call stack(weir_kernel_regex_full_match, {data, deep}, {WEIR_BOOL}, {});
  EXPECT_EQ(stack.code, WEIR_INVALID_ARGUMENT);
}

//===----------------------------------------------------------------------===//
// Hashes: what TensorFlow answers, modulo 2^62
//===----------------------------------------------------------------------===//

TEST(Hashes, AreThoseOfTensorFlow) {
  struct Case {
    int size;
    uint64_t fast, old, strong;
  };
  static const Case cases[] = {
      {0, 1936946117179621455u, 105434511174508091u, 1355846352186774753u},
      {1, 550085751958558782u, 2499542889307245882u, 2484200230482769914u},
      {3, 50737162503519588u, 664798910978920875u, 1705583574088087543u},
      {4, 74291032824012392u, 1071300106493060473u, 1020748719347239584u},
      {7, 3398365883158499592u, 3552175740516232787u, 4421797890131233969u},
      {8, 3403648104430010920u, 1792776028251320487u, 3271661824330803474u},
      {12, 488661389495776056u, 1545351275295505504u, 1389650487100013127u},
      {16, 663651183927826904u, 995847565073455182u, 3373047400697989927u},
      {17, 3125010364355856015u, 3561695271940059064u, 3127519719500229039u},
      {25, 2725631834940171482u, 375774001549983061u, 428445996882369810u},
      {32, 3992320350721670009u, 2782484674102228036u, 1558840281292556663u},
      {33, 1299301519085802221u, 1671907256595274647u, 362437158542463500u},
      {50, 1565001286816019038u, 2773088732060145836u, 3846252509792231447u},
      {64, 496021707010269990u, 2194319048294259613u, 3873423483705011148u},
      {65, 3209512396189334845u, 2521291561056467249u, 2234395952229436419u},
      {100, 3529443128402560788u, 3315819662128981252u, 746552214854574840u},
      {128, 637281534562233924u, 1588978728133749898u, 3277657805415970775u},
      {129, 2623547578443077797u, 30336917363350208u, 2795574252158193945u},
      {300, 925641206987745476u, 1435304505799138976u, 3571141668241597734u},
  };
  constexpr uint64_t buckets = uint64_t(1) << 62;
  for (const Case &c : cases) {
    std::string text;
    for (int i = 0; i < c.size; ++i)
      text += char((i * 7 + c.size) % 251);
    EXPECT_EQ(farmFingerprint64(text.data(), c.size) % buckets, c.fast) << c.size;
    EXPECT_EQ(murmur64(text.data(), c.size, 0xdecafcaffe) % buckets, c.old);
    EXPECT_EQ(sipHash24(text.data(), c.size, 123, 456789) % buckets, c.strong);
  }
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

TEST(Text, ChangesCase) {
  auto lower = [](std::string text, int64_t utf8) {
    Strings data = one(text);
    return Call(weir_kernel_string_lower, {data}, {WEIR_STRING}, {utf8}).results[0].strings[0];
  };
  EXPECT_EQ(lower("AbZ[\303\204", 0), "abz[\303\204");
  EXPECT_EQ(lower("\303\204\316\230\316\243", 1), "\303\244\316\270\317\202")
      << "a sigma that ends a word";
  EXPECT_EQ(lower("\316\243\316\221", 1), "\317\203\316\261");
  EXPECT_EQ(lower("\377A", 1), "\357\277\275a");
  Strings data({"stra\303\237e", "\357\254\201"}, {2});
  Call upper(weir_kernel_string_upper, {data}, {WEIR_STRING}, {1});
  EXPECT_EQ(upper.results[0].strings, (Texts{"STRASSE", "FI"}));
}

TEST(Text, SlicesBytesAndCharacters) {
  Strings data({"h\303\251llo", "abc"}, {2});
  std::vector<int64_t> at = {1, -2}, size = {2, 9};
  Call bytes(weir_kernel_string_slice, {data, dense(at, WEIR_I64, {2}), dense(size, WEIR_I64, {2})},
             {WEIR_STRING}, {0});
  EXPECT_EQ(bytes.results[0].strings, (Texts{"\303\251", "bc"}));
  Call characters(weir_kernel_string_slice,
                  {data, dense(at, WEIR_I64, {2}), dense(size, WEIR_I64, {2})}, {WEIR_STRING}, {1});
  EXPECT_EQ(characters.results[0].strings, (Texts{"\303\251l", "bc"}));
  at = {0, 4};
  Call outside(weir_kernel_string_slice,
               {data, dense(at, WEIR_I64, {2}), dense(size, WEIR_I64, {2})}, {WEIR_STRING}, {0});
  EXPECT_EQ(outside.code, WEIR_INVALID_ARGUMENT);
  EXPECT_NE(outside.message.find("position 4"), std::string::npos);
}

TEST(Text, JoinsAlongAxes) {
  Strings data({"a", "b", "c", "d"}, {2, 2}), by = one("-");
  auto join = [&](Sizes attributes) {
    return Call(weir_kernel_string_reduce_join, {data, by}, {WEIR_STRING}, attributes)
        .results[0]
        .strings;
  };
  EXPECT_EQ(join({0, 2, 0, 1}), Texts{"a-c-b-d"});
  EXPECT_EQ(join({0, 2, 1, 0}), Texts{"a-b-c-d"});
  EXPECT_EQ(join({0, 1, 0}), (Texts{"a-c", "b-d"}));
  EXPECT_EQ(join({0, 0}), (Texts{"a", "b", "c", "d"}));
  std::vector<int64_t> ids = {1, 1}, count = {3};
  Call segments(weir_kernel_string_segment_join,
                {data, dense(ids, WEIR_I64, {2}), dense(count, WEIR_I64, {}), by}, {WEIR_STRING},
                {});
  EXPECT_EQ(segments.results[0].strings, (Texts{"", "", "a-c", "b-d", "", ""}));
  ids = {0, 3};
  Call outside(weir_kernel_string_segment_join,
               {data, dense(ids, WEIR_I64, {2}), dense(count, WEIR_I64, {}), by}, {WEIR_STRING},
               {});
  EXPECT_EQ(outside.code, WEIR_INVALID_ARGUMENT);
}

TEST(Text, SplitsIntoSparseTokens) {
  Strings data({" a  b ", "", "c"}, {3}), space = one(""), blank = one(" ");
  Call words(weir_kernel_string_split_sparse, {data, space}, {WEIR_I64, WEIR_STRING, WEIR_I64},
             {1, -1});
  EXPECT_EQ(words.results[0].as<int64_t>(), (Sizes{0, 0, 0, 1, 2, 0}));
  EXPECT_EQ(words.results[1].strings, (Texts{"a", "b", "c"}));
  EXPECT_EQ(words.results[2].as<int64_t>(), (Sizes{3, 2}));
  Call kept(weir_kernel_string_split_sparse, {data, blank}, {WEIR_I64, WEIR_STRING, WEIR_I64},
            {0, 0});
  EXPECT_EQ(kept.results[1].strings, (Texts{"", "a", "", "b", "", "c"}));
}

TEST(Text, BuildsNGrams) {
  Strings data({"a", "b", "c", "d"}, {4}), by = one("|"), left = one("L"), right = one("R");
  std::vector<int64_t> splits = {0, 3, 3, 4};
  auto ngrams = [&](Sizes attributes) {
    return Call(weir_kernel_string_ngrams, {data, dense(splits, WEIR_I64, {4}), by, left, right},
                {WEIR_STRING, WEIR_I64}, attributes);
  };
  Call plain = ngrams({0, 0, 1, 2});
  EXPECT_EQ(plain.results[0].strings, (Texts{"a|b", "b|c"}));
  EXPECT_EQ(plain.results[1].as<int64_t>(), (Sizes{0, 2, 2, 2}));
  EXPECT_EQ(ngrams({0, 1, 1, 2}).results[0].strings, (Texts{"a|b", "b|c", "d"}));
  EXPECT_EQ(ngrams({-1, 0, 1, 2}).results[0].strings,
            (Texts{"L|a", "a|b", "b|c", "c|R", "L|R", "L|d", "d|R"}));
  splits = {0, 5, 3, 4};
  EXPECT_EQ(ngrams({0, 0, 1, 2}).code, WEIR_INVALID_ARGUMENT);
}

TEST(Text, PrintsAndReadsNumbers) {
  std::vector<float> values = {1.5f, 1e20f, NAN, -INFINITY};
  auto print = [&](Sizes attributes) {
    return Call(weir_kernel_as_string, {dense(values, WEIR_F32, {4})}, {WEIR_STRING}, attributes)
        .results[0]
        .strings;
  };
  EXPECT_EQ(print({0, -1, -1, 'f'}),
            (Texts{"1.500000", "100000002004087734272.000000", "nan", "-inf"}));
  EXPECT_EQ(print({'0', 8, 2, 'g'}), (Texts{"000001.5", "0001e+20", "     nan", "    -inf"}));
  values = {0.1f, 1.0f / 3, 1e-5f, 3};
  Call shortest(weir_kernel_number_to_string, {dense(values, WEIR_F32, {4})}, {WEIR_STRING}, {});
  EXPECT_EQ(shortest.results[0].strings, (Texts{"0.1", "0.33333334", "1e-05", "3.0"}));
  Strings good({" 0x1p3 ", "-inf", ".5", "1e400"}, {4});
  Call read(weir_kernel_string_to_number, {good}, {WEIR_F64}, {});
  EXPECT_EQ(read.results[0].as<double>(), (std::vector<double>{8, -INFINITY, 0.5, INFINITY}));
  for (const char *bad : {"", " ", "1.5f", "1 2", "nan(1)", "+-1"}) {
    Strings text = one(bad);
    EXPECT_EQ(Call(weir_kernel_string_to_number, {text}, {WEIR_F64}, {}).code,
              WEIR_INVALID_ARGUMENT)
        << bad;
  }
  Strings most = one("-9223372036854775808"), more = one("9223372036854775808");
  Call least(weir_kernel_string_to_number, {most}, {WEIR_I64}, {});
  EXPECT_EQ(least.results[0].as<int64_t>(), Sizes{INT64_MIN});
  EXPECT_EQ(Call(weir_kernel_string_to_number, {more}, {WEIR_I64}, {}).code, WEIR_INVALID_ARGUMENT);
}

TEST(Text, FormatsTensors) {
  std::vector<int32_t> numbers = {1, 2, 3, 4, 5, 6, 7, 8};
  Strings pattern = one("x={} y={}"), mark = one("{}"), text({"a\"b"}, {1});
  Call call(weir_kernel_string_format, {pattern, mark, dense(numbers, WEIR_I32, {8}), text},
            {WEIR_STRING}, {2});
  EXPECT_EQ(call.results[0].strings, Texts{"x=[1 2 ... 7 8] y=[\"a\\\"b\"]"});
  Call few(weir_kernel_string_format, {pattern, mark, text}, {WEIR_STRING}, {3});
  EXPECT_EQ(few.code, WEIR_INVALID_ARGUMENT);
}

TEST(Text, CodesBase64BothWays) {
  std::mt19937 random(1);
  for (int size = 0; size < 40; ++size) {
    std::string bytes;
    for (int i = 0; i < size; ++i)
      bytes += char(random());
    for (int64_t pad : {0, 1}) {
      Strings data = one(bytes);
      Call encoded(weir_kernel_encode_base64, {data}, {WEIR_STRING}, {pad});
      Strings coded = one(encoded.results[0].strings[0]);
      Call decoded(weir_kernel_decode_base64, {coded}, {WEIR_STRING}, {});
      EXPECT_EQ(decoded.results[0].strings, Texts{bytes});
    }
  }
  for (const char *bad : {"YWI==", "Y", "YW+/", "Y W", "="}) {
    Strings text = one(bad);
    EXPECT_EQ(Call(weir_kernel_decode_base64, {text}, {WEIR_STRING}, {}).code,
              WEIR_INVALID_ARGUMENT)
        << bad;
  }
}

TEST(Unicode, DecodesAndReplaces) {
  Strings data({"a\303\251", "\377\360\237\230\200"}, {2}), utf8 = one("utf_8");
  auto decode = [&](int64_t errors) {
    return Call(weir_kernel_unicode_decode, {data, utf8}, {WEIR_I64, WEIR_I32, WEIR_I64},
                {errors, 0xfffd, 0});
  };
  EXPECT_EQ(decode(0).code, WEIR_INVALID_ARGUMENT);
  Call replaced = decode(1);
  EXPECT_EQ(replaced.results[0].as<int64_t>(), (Sizes{0, 2, 4}));
  EXPECT_EQ(replaced.results[1].as<int32_t>(), (std::vector<int32_t>{'a', 0xe9, 0xfffd, 0x1f600}));
  EXPECT_EQ(replaced.results[2].as<int64_t>(), (Sizes{0, 1, 0, 1}));
  EXPECT_EQ(decode(2).results[1].as<int32_t>().size(), 3u);
  Strings none = one("klingon");
  Call unknown(weir_kernel_unicode_transcode, {data, none}, {WEIR_STRING}, {1, 0xfffd, 0, 0});
  EXPECT_EQ(unknown.code, WEIR_INVALID_ARGUMENT);
  Strings western({"\200\344"}, {}), page = one("windows-1252");
  Call wide(weir_kernel_unicode_transcode, {western, page}, {WEIR_STRING}, {0, 0xfffd, 0, 1});
  EXPECT_EQ(wide.results[0].strings, Texts{std::string("\x20\xac\0\xe4", 4)});
}

TEST(Unicode, WritesWhatItReads) {
  for (uint32_t code = 0; code <= lastCodePoint; code += code < 0x3000 ? 1 : 97) {
    if (!isCodePoint(code))
      continue;
    char bytes[4];
    int32_t size = encodeUtf8(code, bytes);
    uint32_t back;
    ASSERT_EQ(decodeUtf8(bytes, bytes + size, &back), size);
    ASSERT_EQ(back, code);
  }
}

TEST(Text, CutsIntoTokensAsOnnxRuntimeDoes) {
  auto cut = [](Texts texts, Texts patterns, int64_t mode, int64_t fewest, int64_t mark) {
    Strings data(texts, {int64_t(texts.size())}), by(patterns, {int64_t(patterns.size())});
    Call call(weir_kernel_string_tokenize, {data, by, one("#")}, {WEIR_STRING},
              {mode, fewest, mark});
    EXPECT_EQ(call.code, WEIR_OK);
    return call.results[0].strings;
  };
  EXPECT_EQ(cut({"a b,c d", "  x "}, {" ", ","}, 0, 1, 1),
            (Texts{"\x02", "a", "b", "c", "d", "\x03", "\x02", "x", "\x03", "#", "#", "#"}));
  EXPECT_EQ(cut({"ab12 c3"}, {"[0-9]*"}, 1, 1, 0), (Texts{"12", "3"}));
  EXPECT_EQ(cut({"ab12 c3"}, {"[a-z]+"}, 1, 2, 0), (Texts{"ab"}));
  EXPECT_EQ(cut({"abc", "h\303\251"}, {}, 2, 1, 0), (Texts{"a", "b", "c", "h", "\303\251", "#"}));
  // Nothing that is left has no marks either; a match of nothing drops a character.
  EXPECT_EQ(cut({"  ", " "}, {" "}, 0, 1, 1), Texts{});
  EXPECT_EQ(cut({"aaxbb"}, {"x*"}, 0, 1, 0), Texts{});
  EXPECT_EQ(cut({"a1b"}, {"^"}, 0, 1, 0), (Texts{"1b"}));

  Strings bad({"\xff"}, {1}), by({" "}, {1});
  Call call(weir_kernel_string_tokenize, {bad, by, one("#")}, {WEIR_STRING}, {0, 1, 0});
  EXPECT_EQ(call.code, WEIR_INVALID_ARGUMENT);
}

TEST(Hashes, MurmurHash3) {
  // Published values.
  EXPECT_EQ(murmur3("", 0, 0), 0u);
  EXPECT_EQ(murmur3("", 0, 1), 0x514e28b7u);
  EXPECT_EQ(murmur3("hello", 5, 0), 0x248bfa47u);
  EXPECT_EQ(murmur3("hello, world", 12, 0), 0x149bbb7fu);
}

TEST(EditDistance, CountsEdits) {
  std::vector<int64_t> at = {0, 0, 0, 1, 2, 0}, shape = {3, 2};
  std::vector<int64_t> truthAt = {0, 0, 1, 0, 1, 1};
  Strings words({"a", "b", "c"}, {3}), truth({"a", "x", "y"}, {3});
  auto distance = [&](int64_t normalize) {
    return Call(weir_kernel_edit_distance,
                {dense(at, WEIR_I64, {3, 2}), words, dense(shape, WEIR_I64, {2}),
                 dense(truthAt, WEIR_I64, {3, 2}), truth, dense(shape, WEIR_I64, {2})},
                {WEIR_F32}, {normalize});
  };
  EXPECT_EQ(distance(0).results[0].as<float>(), (std::vector<float>{1, 2, 1}));
  EXPECT_EQ(distance(1).results[0].as<float>(), (std::vector<float>{1, 1, INFINITY}));
  at[0] = 7;
  EXPECT_EQ(distance(0).code, WEIR_INVALID_ARGUMENT);
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

TEST(LookupMap, BehavesAsAMapDoes) {
  std::mt19937 random(7);
  LookupMap map(WEIR_STRING, WEIR_STRING, 1);
  std::map<std::string, std::string> expected;
  for (int step = 0; step < 20000; ++step) {
    std::string key = std::to_string(random() % 700), value(random() % 5, 'v');
    weir_string k{key.data(), int64_t(key.size())}, v{value.data(), int64_t(value.size())};
    if (random() % 3 == 0) {
      map.remove(&k);
      expected.erase(key);
    } else {
      ASSERT_TRUE(map.insert(&k, &v));
      expected[key] = value;
    }
    ASSERT_EQ(map.size(), int64_t(expected.size()));
    int64_t entry = map.find(&k);
    ASSERT_EQ(entry >= 0, expected.count(key) == 1);
    if (entry >= 0)
      ASSERT_TRUE(map.hasValue(entry, &v));
  }
  for (auto &[key, value] : expected) {
    weir_string k{key.data(), int64_t(key.size())}, v{value.data(), int64_t(value.size())};
    ASSERT_TRUE(map.hasValue(map.find(&k), &v));
  }
}

/// Steps of a session in which runs share a table.
struct TableRuns {
  static int32_t step(weir_context *ctx) {
    return weir_rt_library(ctx, function, 0, operands.data(), int32_t(operands.size()),
                           results.data(), int32_t(results.size()), attributes.data());
  }
  inline static weir_library_fn function;
  inline static std::vector<weir_tensor> operands, results;
  inline static Sizes attributes;
};

TEST(Tables, LiveInASession) {
  TestProgram program;
  program.site("the/node", "TheOp", "?", WEIR_INTERNAL);
  program.entry("main", {}, {}, {TableRuns::step});
  TestSession session(program.get(), TestSession::defaults(1));
  Strings name = one(std::string("h\0n", 3)), keys({"a", "b"}, {2}), more({"b", "z"}, {2});
  std::vector<int64_t> values = {1, 2}, other = {-1};
  std::vector<int64_t> found;
  auto run = [&](weir_library_fn function, std::vector<weir_tensor> operands,
                 std::vector<int32_t> types, Sizes attributes) {
    TableRuns::function = function;
    TableRuns::operands = std::move(operands);
    TableRuns::attributes = std::move(attributes);
    TableRuns::results.assign(types.size(), weir_tensor{});
    found.assign(2, 0);
    for (size_t i = 0; i < types.size(); ++i) {
      TableRuns::results[i].dtype = types[i];
      TableRuns::results[i].data = found.data();
    }
    return session.run({}, nullptr);
  };
  weir_tensor v = dense(values, WEIR_I64, {2}), d = dense(other, WEIR_I64, {});
  EXPECT_EQ(run(weir_kernel_table_find, {name, more, d}, {WEIR_I64}, {0}),
            WEIR_FAILED_PRECONDITION);
  EXPECT_EQ(run(weir_kernel_table_insert, {name, keys, v}, {}, {0, 1}), WEIR_OK);
  EXPECT_EQ(run(weir_kernel_table_find, {name, more, d}, {WEIR_I64}, {0}), WEIR_OK);
  EXPECT_EQ(found, (Sizes{2, -1}));
  EXPECT_EQ(run(weir_kernel_table_insert, {name, keys, v}, {}, {0, 0}), WEIR_UNIMPLEMENTED);
  EXPECT_EQ(run(weir_kernel_table_find, {name, keys, keys}, {WEIR_STRING}, {0}),
            WEIR_INVALID_ARGUMENT)
      << "values of another type";
  // A new session, and one that is reset, have none of it.
  EXPECT_EQ(weir_session_reset(session, nullptr), WEIR_OK);
  EXPECT_EQ(run(weir_kernel_table_find, {name, more, d}, {WEIR_I64}, {0}),
            WEIR_FAILED_PRECONDITION);
}

} // namespace
