#pragma once

/// The cases that the tests of all stream decoders share, and the ways in which a decoder is fed
/// with them.

#include "runner/base/model_provider.hpp"
#include "tests/runner/openai/recording_model_sink.hpp"

#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {

/// Also keeps the data that is to be sent back.
class turn_data_sink final : public recording_model_sink {
public:
    void on_turn_data(std::string_view key, const boost::json::value& value) override {
        data += std::string(key) + " " + boost::json::serialize(value);
    }

    std::string data;
};

inline std::string reason_text(runner::finish_reason reason) {
    switch (reason) {
    case runner::finish_reason::stop:
        return "stop";
    case runner::finish_reason::tool_calls:
        return "tool_calls";
    case runner::finish_reason::length:
        return "length";
    case runner::finish_reason::content_filter:
        return "content_filter";
    case runner::finish_reason::pause:
        return "pause";
    case runner::finish_reason::refusal:
        return "refusal";
    }
    return "";
}

inline std::string describe_answer(const runner::model_outcome& outcome) {
    if (!outcome) {
        const runner::model_failure& failed = outcome.error();
        const std::string said = failed.upstream.empty() ? "" : ": " + failed.upstream;
        switch (failed.what) {
        case runner::model_failure::kind::unavailable:
            return "unavailable " + std::to_string(failed.status) + ": " + failed.detail + said;
        case runner::model_failure::kind::lost:
            return "lost";
        case runner::model_failure::kind::rejected:
            return "rejected " + std::to_string(failed.status) + said;
        case runner::model_failure::kind::timeout:
        case runner::model_failure::kind::memory:
        case runner::model_failure::kind::over_quota:
        case runner::model_failure::kind::uncounted:
        case runner::model_failure::kind::cancelled:
            return "not the decoder's business";
        }
    }
    const std::string text = reason_text(outcome->reason);
    return outcome->unknown_reason.empty() ? text : text + " (" + outcome->unknown_reason + ")";
}

struct decoder_case {
    const char* name;
    std::string body;
    std::vector<std::string> lines;
    std::string outcome;
    /// The record of the blocks, without its hashes; empty if there is none.
    std::string blocks = {};
};

inline void PrintTo(const decoder_case& value, std::ostream* out) { *out << value.name; }

inline const auto decoder_case_name = [](const auto& param) {
    return std::string(param.param.name);
};

/// The blocks of a record, which follow its hashes.
inline std::string blocks_of(const std::string& data) {
    const std::string begin = "\"blocks\":";
    const std::size_t at = data.find(begin);
    return at == std::string::npos
               ? data
               : data.substr(at + begin.size(), data.size() - at - begin.size() - 1);
}

/// The arguments of the calls, and the calls that ended.
inline std::map<std::string, std::string> ended_calls(const std::vector<std::string>& lines) {
    std::map<std::string, std::string> arguments;
    std::map<std::string, std::string> ended;
    for (const std::string& each : lines) {
        if (each.starts_with("arguments ")) {
            const std::size_t end = each.find(' ', 10);
            arguments[each.substr(10, end - 10)] += each.substr(end + 1);
        } else if (each.starts_with("end ")) {
            ended[each.substr(4)] = arguments[each.substr(4)];
        }
    }
    return ended;
}

inline std::string joined(const std::vector<std::string>& lines, const std::string& kind) {
    std::string text;
    for (const std::string& each : lines) {
        if (each.starts_with(kind)) {
            text += each.substr(kind.size());
        }
    }
    return text;
}

inline std::string without(std::string text, const std::string& part) {
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos;) {
        text.erase(at, part.size());
    }
    return text;
}

inline std::string with(std::string text, const std::string& part, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += by.size()) {
        text.replace(at, part.size(), by);
    }
    return text;
}

/// Removes the `event:` lines.
inline std::string without_names(std::string text) {
    for (std::size_t at = 0; (at = text.find("event: ")) != std::string::npos;) {
        text.erase(at, text.find('\n', at) + 1 - at);
    }
    return text;
}

/// Numbers that look random but are the same in each run.
class numbers {
public:
    explicit numbers(std::uint64_t seed) : state_(seed * 2 + 1) {}
    std::size_t below(std::size_t limit) {
        state_ ^= state_ << 13U;
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        return static_cast<std::size_t>(state_ % limit);
    }

private:
    std::uint64_t state_;
};

/// The result of decoding some bytes of an answer.
struct decoded {
    std::vector<std::string> lines;
    std::string outcome;
    std::string data;
    bool contract_broken = false;
    bool begun = false;
};

template <class Decoder>
decoded decode_pieces(const std::vector<std::string_view>& pieces) {
    turn_data_sink sink;
    Decoder decoder(sink, "model", "provider");
    for (const std::string_view each : pieces) {
        (void)decoder.feed(each); // Continues after the end on purpose.
    }
    decoded result;
    result.outcome = describe_answer(decoder.finish());
    result.begun = decoder.begun();
    result.lines = std::move(sink.lines);
    result.data = std::move(sink.data);
    result.contract_broken = sink.contract_broken;
    return result;
}

/// The answers of one kind of decoder, each fed in one piece, in several, and broken off.
template <class Decoder>
class DecoderCases : public ::testing::TestWithParam<decoder_case> {
protected:
    using ::testing::TestWithParam<decoder_case>::GetParam;

    static void check_in_one_piece() { expect(decode_pieces<Decoder>({GetParam().body})); }

    static void check_byte_by_byte() {
        // Each piece has memory of its own, so that a sanitizer notices a read beyond it.
        std::vector<std::vector<char>> bytes;
        std::vector<std::string_view> pieces;
        for (const char each : GetParam().body) {
            bytes.push_back({each});
            pieces.emplace_back(bytes.back().data(), 1);
        }
        expect(decode_pieces<Decoder>(pieces));
    }

    static void check_cut_anywhere() {
        const std::string_view body = GetParam().body;
        for (std::size_t at = 1; at < body.size() && !::testing::Test::HasFailure(); ++at) {
            const decoded result = decode_pieces<Decoder>({body.substr(0, at), body.substr(at)});
            if (!is_expected(result)) {
                SCOPED_TRACE(at);
                expect(result);
            }
        }
    }

    /// The connection may break anywhere. `keeps_data` means that a cut answer may have data, too.
    static void check_broken_off_anywhere(bool keeps_data = false) {
        const std::string_view body = GetParam().body;
        ::testing::Test::RecordProperty("cuts", std::to_string(body.size()));
        const decoded whole = decode_pieces<Decoder>({body});
        // Half of a cut character becomes a replacement character.
        const auto told = [](const decoded& answer, const std::string& kind) {
            return without(joined(answer.lines, kind), "\xEF\xBF\xBD");
        };
        const std::string text = told(whole, "text ");
        const std::string thoughts = told(whole, "reasoning ");
        const auto calls = ended_calls(whole.lines);
        for (std::size_t at = 0; at < body.size() && !::testing::Test::HasFailure(); ++at) {
            const decoded cut = decode_pieces<Decoder>({body.substr(0, at)});
            const bool is_complete = cut.outcome == whole.outcome;
            const bool is_failure = cut.outcome == "lost" || cut.outcome.starts_with("unavailable");
            EXPECT_TRUE(!cut.contract_broken) << at;
            EXPECT_TRUE(is_complete || is_failure) << at << " " << cut.outcome;
            EXPECT_TRUE(is_complete || keeps_data || cut.data.empty()) << at << " " << cut.data;
            EXPECT_TRUE(cut.lines.empty() || cut.begun) << at;
            for (const auto& [call, arguments] : ended_calls(cut.lines)) {
                // A call that ends in the cut answer has all of its arguments.
                const auto known = calls.find(call);
                EXPECT_TRUE(known != calls.end() && known->second == arguments) << at;
            }
            EXPECT_TRUE(text.starts_with(told(cut, "text "))) << at;
            EXPECT_TRUE(thoughts.starts_with(told(cut, "reasoning "))) << at;
        }
    }

private:
    static bool is_expected(const decoded& result) {
        const decoder_case& param = GetParam();
        return result.lines == param.lines && !result.contract_broken &&
               result.outcome == param.outcome && blocks_of(result.data) == param.blocks;
    }

    static void expect(const decoded& result) {
        const decoder_case& param = GetParam();
        EXPECT_EQ(result.lines, param.lines);
        EXPECT_FALSE(result.contract_broken);
        EXPECT_EQ(result.outcome, param.outcome);
        EXPECT_EQ(blocks_of(result.data), param.blocks);
    }
};

} // namespace agui::test
