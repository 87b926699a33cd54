#pragma once

#include "runner/http/scripted_transport.hpp"
#include "tests/runner/responses/responses_answer_case.hpp"

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
#include <utility>
#include <vector>

namespace agui::test {

/// A server that answers at random, in the order of a seed, and refuses what OpenAI refuses: calls
/// without outputs and the reverse, reasoning that was changed or that lacks the item after it,
/// known items without the reasoning before them. It also refuses a history that lacks an item of
/// its answers, or that does not begin with the former one.
class strict_openai {
public:
    explicit strict_openai(std::uint64_t seed) : random_(seed) {}

    runner::scripted_answer answer(const runner::transport_request& request) {
        const boost::json::value body = boost::json::parse(request.body);
        const std::string wrong = check(body.as_object(), request.body);
        if (!wrong.empty()) {
            refusals.push_back(wrong + "\n" + request.body);
            runner::scripted_answer refusal;
            refusal.status = 400;
            refusal.body = R"({"error":{"message":"no","type":"invalid_request_error"}})";
            return refusal;
        }
        ++requests;
        former_ = request.body.substr(0, request.body.size() - 2); // Without the end of the list.
        runner::scripted_answer made;
        made.body = make_answer();
        return made;
    }

    std::vector<std::string> refusals;
    std::size_t requests = 0;
    std::size_t returned = 0; ///< Reasoning that came back.

private:
    std::string check(const boost::json::object& body, const std::string& text) {
        if (body.at("store") != false || body.at("stream") != true) {
            return "state of the server";
        }
        if (!text.starts_with(former_)) {
            return "another beginning";
        }
        std::set<std::string> open;
        std::string before; // The reasoning before an item, as text.
        std::size_t own = 0;
        for (const boost::json::value& item : body.at("input").as_array()) {
            const std::string type(item.at("type").as_string());
            if (type == "function_call_output") {
                if (open.erase(std::string(item.at("call_id").as_string())) == 0) {
                    return "No tool call found";
                }
            } else if (type == "message" && item.at("role") != "assistant") {
                if (!open.empty()) {
                    return "No tool output found";
                }
            } else if (own == made_.size() || boost::json::serialize(item) != made_[own]) {
                return "an answer was changed: " + (own < made_.size() ? made_[own] : "");
            } else {
                ++own;
                if (type == "function_call") {
                    open.emplace(item.at("call_id").as_string());
                }
                returned += type == "reasoning" ? 1 : 0;
                before = type == "reasoning" ? "reasoning" : "";
                continue;
            }
            if (!before.empty()) {
                return "provided without its required following item";
            }
        }
        if (!open.empty()) {
            return "No tool output found";
        }
        return own == made_.size() ? "" : "an item is missing";
    }

    /// The events of an answer, whose items are kept as they must come back.
    std::string make_answer() {
        std::string events = responses::created;
        const std::size_t count = 1 + random_.below(4);
        int index = 0;
        std::vector<std::string> items;
        bool has_reasoning = false;
        for (std::size_t at = 0; at < count; ++at) {
            const std::string number = std::to_string(++last_);
            if (random_.below(2) == 0) {
                const std::string item =
                    responses::reasoning_item("rs_" + number, "Hm " + number, "E" + number);
                events += responses::reasoning(index++, "rs_" + number);
                events.erase(events.rfind("event: response.output_item.done"));
                events += responses::done(index - 1, item);
                items.push_back(item);
                has_reasoning = true;
            }
            if (random_.below(2) == 0) {
                const std::string phase = random_.below(2) == 0 ? "commentary" : "final_answer";
                const std::string text = "Text " + number;
                events += responses::message(index++, text, R"(,"phase":")" + phase + "\"");
                items.push_back(
                    R"({"type":"message","role":"assistant","content":[{"type":"output_text",)"
                    R"("text":")" +
                    text + R"("}],"id":"msg_1","status":"completed","phase":")" + phase + "\"}"
                );
            } else {
                const std::string arguments = R"({\"a\": )" + number + "}";
                events += responses::call(index++, "call_" + number, "look", arguments);
                items.push_back(
                    R"({"type":"function_call","call_id":"call_)" + number +
                    R"(","name":"look","arguments":")" + arguments + R"(","id":"fc_call_)" +
                    number + R"(","status":"completed"})"
                );
            }
        }
        for (std::string& each : items) {
            if (!has_reasoning) { // Then the server looks for no ids.
                for (const char* const name : {"id", "status"}) {
                    boost::json::value item = boost::json::parse(each);
                    item.as_object().erase(name);
                    each = boost::json::serialize(in_order(item.as_object()));
                }
            }
            made_.push_back(std::move(each));
        }
        return events + responses::end();
    }

    /// erase() moves the last member.
    static boost::json::object in_order(const boost::json::object& item) {
        boost::json::object ordered;
        for (const char* const name :
             {"type", "role", "call_id", "name", "arguments", "content", "id", "status", "phase"}) {
            if (const auto* const value = item.if_contains(name)) {
                ordered.emplace(name, *value);
            }
        }
        return ordered;
    }

    numbers random_;
    std::uint64_t last_ = 0;
    std::string former_;
    std::vector<std::string> made_;
};

} // namespace agui::test
