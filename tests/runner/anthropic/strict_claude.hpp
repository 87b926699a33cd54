#pragma once

#include "runner/http/scripted_transport.hpp"
#include "tests/runner/anthropic/anthropic_answer_case.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {

/// A server that answers at random, in the order of a seed, and refuses what Claude refuses: roles
/// out of order, empty texts, results that are missing or not at the front, thoughts that were
/// changed or moved, or whose conversation before them was changed, a history that ends with an
/// answer or does not end with a paused one. It also refuses a history that lacks a block of its
/// answers.
class strict_claude {
public:
    explicit strict_claude(std::uint64_t seed) : state_(seed * 2 + 1) {}

    runner::scripted_answer answer(const runner::transport_request& request) {
        std::size_t marks = 0;
        const std::string text = without_marks(request.body, marks);
        const boost::json::value body = boost::json::parse(text);
        const std::string wrong = marks > 4 ? "too many marks for the cache" : check(body);
        if (!wrong.empty()) {
            refusals.push_back(wrong + "\n" + request.body);
            runner::scripted_answer refusal;
            refusal.status = 400;
            refusal.body = R"({"type":"error","error":{"type":"invalid_request_error"}})";
            return refusal;
        }
        ++requests;
        // The end of the list of messages and of the last message.
        const std::string begin = text.substr(0, text.size() - 4);
        repeated += text.starts_with(former_) ? former_.size() : 0;
        all_former += former_.size();
        former_ = begin;
        runner::scripted_answer made;
        // The thoughts after a pause belong to the message in front of which they stand.
        const std::size_t count = body.at("messages").as_array().size();
        made.body = make_answer(prefix_of(body, paused_ ? count - 1 : count));
        return made;
    }

    std::vector<std::string> refusals;
    std::size_t requests = 0;
    std::size_t thoughts = 0;   ///< That came back.
    std::size_t pauses = 0;     ///< After which it went on.
    std::size_t repeated = 0;   ///< Bytes of requests that repeat the former one.
    std::size_t all_former = 0; ///< Bytes of the former requests.

private:
    struct thought {
        std::string block;
        std::string prefix;
    };

    std::uint64_t below(std::uint64_t limit) {
        state_ ^= state_ << 13U;
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        return state_ % limit;
    }

    /// The marks of the prompt cache move, and are no part of what the model reads.
    static std::string without_marks(std::string text, std::size_t& count) {
        const std::string mark = R"(,"cache_control":{"type":"ephemeral"})";
        for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; ++count) {
            text.erase(at, mark.size());
        }
        return text;
    }

    /// Everything in front of the message of that index.
    static std::string prefix_of(const boost::json::value& body, std::size_t index) {
        std::string text;
        for (const char* const name : {"system", "tools"}) {
            if (const auto* const value = body.as_object().if_contains(name)) {
                text += boost::json::serialize(*value);
            }
        }
        for (std::size_t at = 0; at < index; ++at) {
            text += boost::json::serialize(body.at("messages").at(at));
        }
        return text;
    }

    static bool is_thought(const boost::json::value& block) {
        const auto& type = block.at("type").as_string();
        return type == "thinking" || type == "redacted_thinking";
    }

    std::string check(const boost::json::value& body) {
        const boost::json::array& messages = body.at("messages").as_array();
        if (body.at("max_tokens").as_int64() < 1 || messages.empty()) {
            return "no messages";
        }
        std::size_t answers = 0;
        std::set<std::string> ids;
        std::vector<std::string> open;
        std::string last;
        for (std::size_t at = 0; at < messages.size(); ++at) {
            const std::string role(messages[at].at("role").as_string());
            if (role == last || (last.empty() && role != "user")) {
                return "roles out of order";
            }
            last = role;
            const boost::json::array& content = messages[at].at("content").as_array();
            if (content.empty()) {
                return "an empty message";
            }
            if (role == "user") {
                if (const std::string wrong = check_results(content, open); !wrong.empty()) {
                    return wrong;
                }
            } else if (!open.empty()) {
                return "calls without results";
            } else if (answers == answers_.size() || answers_[answers] != content) {
                return "an answer was changed: " + (answers < answers_.size()
                                                        ? boost::json::serialize(answers_[answers])
                                                        : std::string());
            } else {
                ++answers;
            }
            for (const boost::json::value& block : content) {
                const std::string type(block.at("type").as_string());
                if (type == "text" &&
                    block.at("text").as_string().find_first_not_of(" \n") == std::string::npos) {
                    return "an empty text";
                }
                if (type == "tool_use") {
                    open.emplace_back(block.at("id").as_string());
                    if (!ids.insert(open.back()).second || !block.at("input").is_object()) {
                        return "a call that is not one";
                    }
                }
                if (is_thought(block)) {
                    const std::string key = boost::json::serialize(block);
                    const auto known = thoughts_.find(key);
                    if (known == thoughts_.end() || known->second != prefix_of(body, at)) {
                        return "Invalid signature in thinking block";
                    }
                    ++thoughts;
                }
            }
        }
        if (last != (paused_ ? "assistant" : "user")) {
            return paused_ ? "a tool of the server without its result"
                           : "the last message is not the user's";
        }
        return answers == answers_.size() ? "" : "an answer is missing";
    }

    static std::string
    check_results(const boost::json::array& content, std::vector<std::string>& open) {
        std::set<std::string> missing(open.begin(), open.end());
        bool text = false;
        for (const boost::json::value& block : content) {
            if (block.at("type") != "tool_result") {
                text = true;
            } else if (text) {
                return "a result after text";
            } else if (missing.erase(std::string(block.at("tool_use_id").as_string())) == 0) {
                return "a result without a call";
            }
        }
        open.clear();
        return missing.empty() ? "" : "a call without a result";
    }

    /// The events of an answer, whose blocks are kept as they must come back.
    std::string make_answer(const std::string& prefix) {
        std::string events = message_start();
        boost::json::array blocks;
        bool calls = false;
        const bool goes_on = std::exchange(paused_, false);
        int index = -1;
        if (goes_on) {
            ++pauses;
            ++index;
            events += block_start(index, search_result()) + block_stop(index);
            blocks.push_back(boost::json::parse(search_result()));
        }
        const std::uint64_t count = below(7);
        for (std::uint64_t at = 0; at < count; ++at) {
            ++index;
            const std::string number = std::to_string(++made_);
            switch (below(6)) {
            case 0: // Thoughts that are shown.
                events += thinking_block(index, "Thought " + number, "sig+/" + number);
                blocks.push_back(
                    {{"type", "thinking"},
                     {"thinking", "Thought " + number},
                     {"signature", "sig+/" + number}}
                );
                break;
            case 1: // Thoughts that are not.
                events += thinking_block(index, "", "sig" + number);
                blocks.push_back(
                    {{"type", "thinking"}, {"thinking", ""}, {"signature", "sig" + number}}
                );
                break;
            case 2:
                events += block_start(
                              index, R"({"type":"redacted_thinking","data":"d)" + number + "\"}"
                          ) +
                          block_stop(index);
                blocks.push_back({{"type", "redacted_thinking"}, {"data", "d" + number}});
                break;
            case 3:
                events += text_block(index, R"(\n\n)");
                break;
            case 4:
                events += text_start(index) + text_delta(index, "Text ") +
                          text_delta(index, number + R"( \u00e9\ud83d)") +
                          text_delta(index, R"(\ude00)") + block_stop(index);
                blocks.push_back(
                    {{"type", "text"}, {"text", "Text " + number + " \u00e9\U0001F600"}}
                );
                break;
            default:
                calls = true;
                events +=
                    call_block(index, "toolu_" + number, "look", R"({\"a\": )" + number + "}");
                blocks.push_back(
                    {{"type", "tool_use"},
                     {"id", "toolu_" + number},
                     {"name", "look"},
                     {"input", {{"a", static_cast<std::int64_t>(made_)}}}}
                );
            }
        }
        if (!calls && below(6) == 0) {
            ++index;
            events += block_start(index, search()) + block_stop(index);
            blocks.push_back(boost::json::parse(search()));
            paused_ = true;
            return events + remember(std::move(blocks), prefix, goes_on) + end_events("pause_turn");
        }
        if (goes_on) {
            events += text_block(++index, "On.");
            blocks.push_back({{"type", "text"}, {"text", "On."}});
        } else if (count == 0 || (!calls && blocks.empty())) {
            return message_start() + text_block(0, "Empty.") +
                   remember({{{"type", "text"}, {"text", "Empty."}}}, prefix, false) +
                   end_events("end_turn");
        }
        return events + remember(std::move(blocks), prefix, goes_on) +
               end_events(calls ? "tool_use" : "end_turn");
    }

    [[nodiscard]] std::string search() const {
        return R"({"type":"server_tool_use","id":"srvtoolu_)" + std::to_string(pauses) +
               R"(","name":"web_search","input":{}})";
    }
    /// Of the last search, before which one pause less was counted.
    [[nodiscard]] std::string search_result() const {
        return R"({"type":"web_search_tool_result","tool_use_id":"srvtoolu_)" +
               std::to_string(pauses - 1) + R"(","content":[]})";
    }

    /// `goes_on` from the former answer. Returns nothing, so that it can stand in a sum.
    std::string remember(boost::json::array blocks, const std::string& prefix, bool goes_on) {
        for (const boost::json::value& each : blocks) {
            if (is_thought(each)) {
                thoughts_[boost::json::serialize(each)] = prefix;
            }
        }
        while (!blocks.empty() && is_thought(blocks.back())) {
            blocks.pop_back();
        }
        if (goes_on) {
            for (const boost::json::value& each : blocks) {
                answers_.back().push_back(each);
            }
        } else if (!blocks.empty()) {
            answers_.push_back(std::move(blocks));
        }
        return {};
    }

    std::uint64_t state_;
    std::uint64_t made_ = 0;
    bool paused_ = false; ///< The last answer is a pause.
    std::string former_;
    std::vector<boost::json::array> answers_;
    std::map<std::string, std::string> thoughts_; ///< Their conversations.
};

} // namespace agui::test
