#pragma once

#include "translator/agui/agui_translator.hpp"
#include "translator/agui/open_brackets.hpp"
#include "translator/agui/said_messages.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <cstddef>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace agui::translator {

/// Keeps the events in each form.
class recorded_events final : public wire_sink {
public:
    void on_event(const wire_event& event) override {
        all.emplace_back(event.json);
        keep(v1_0, event.v1_0.value_or(event.json));
        keep(undeclared, event.undeclared.value_or(event.json));
    }
    std::vector<std::string> all; ///< In the newest form.
    std::vector<std::string> v1_0;
    std::vector<std::string> undeclared;

private:
    static void keep(std::vector<std::string>& events, std::string_view json) {
        if (!json.empty()) {
            events.emplace_back(json);
        }
    }
};

/// A random run: the steps of agents in any order, even one that no agent has. But each call of the
/// server has at most one result, and has one if the run is a success; and patches apply. If it is
/// orderly, only subagents that are announced say something.
class random_run {
public:
    explicit random_run(unsigned seed, bool is_orderly = false)
        : random_(seed), is_orderly_(is_orderly), translator_(stream_, {}) {
        translator_.set_time(now_);
        translator_.start({"s", "m", {}});
        if (pick(3) == 0) {
            show_earlier();
        }
        const int steps = pick(60);
        for (int i = 0; i < steps; ++i) {
            now_ += pick(700);
            translator_.set_time(now_);
            step();
        }
        if (pick(4) == 0) { // The process has ended, and another process closes the run.
            open_brackets left;
            for (const std::string& event : stream_.all) {
                left.read(boost::json::parse(event).as_object());
            }
            agui_translator other(stream_, {});
            other.set_time(now_ + 10'000);
            other.resume({"s", "m", {}}, left);
            finish(other);
        } else {
            finish(translator_);
        }
    }

    [[nodiscard]] const std::vector<std::string>& events() const { return stream_.all; }
    [[nodiscard]] const recorded_events& forms() const { return stream_; }

private:
    void finish(agui_translator& translator) {
        runner::run_end end;
        end.reason = reasons[static_cast<std::size_t>(pick(std::size(reasons)))];
        if (!unanswered_.empty() && pick(6) == 0) {
            end_subagent(translator);
            end.reason = runner::stop_reason::approval_needed;
            for (const std::string& id : unanswered_) {
                end.approvals.push_back({id + ":d", id, "f", piece(), now_ + 1});
            }
        } else if (class_of(end.reason) == runner::stop_class::success) {
            end_subagent(translator);
            while (!unanswered_.empty()) {
                show_result(translator);
            }
            if (!external_.empty()) {
                end.reason = runner::stop_reason::external_tool;
                end.pending_call_ids = external_;
            }
        }
        if (pick(2) == 0) {
            end.usage.push_back({"p" + piece(), "m", pick(9), pick(9), pick(2), pick(2), {}});
        }
        translator.finish(end);
    }

    static constexpr runner::stop_reason reasons[] = {
        runner::stop_reason::completed,     runner::stop_reason::external_tool,
        runner::stop_reason::cancelled,     runner::stop_reason::max_rounds,
        runner::stop_reason::model_timeout, runner::stop_reason::error,
        runner::stop_reason::nothing_new,   runner::stop_reason::max_output_tokens,
    };
    static constexpr const char* pieces[] = {"a",  "\"",  "\\",  "\n", "你",
                                             "{}", "\",", "\"}", "😀", " and so on"};

    int pick(std::size_t below) { return static_cast<int>(random_() % below); }
    std::string piece() { return pieces[static_cast<std::size_t>(pick(std::size(pieces)))]; }
    std::string some_call() {
        return calls_.empty() ? "none" : calls_[static_cast<std::size_t>(pick(calls_.size()))];
    }

    boost::json::value some_value() {
        switch (pick(5)) {
        case 0:
            return nullptr;
        case 1:
            return pick(1000) / 8.0;
        case 2:
            return boost::json::array{piece(), true, {{"k" + piece(), pick(100)}}};
        case 3:
            return boost::json::object{{piece(), piece()}};
        default:
            return boost::json::string(piece());
        }
    }

    session::content some_content() {
        if (pick(3) > 0) {
            return piece();
        }
        return boost::json::array{
            {{"type", "text"}, {"text", piece()}, {"id", "p"}},
            {{"type", "image"},
             {"source", {{"type", "data"}, {"value", "aGk="}, {"mimeType", "image/png"}}}},
            {{"type", "document"}, {"source", {{"type", "file"}, {"value", "f"}, {"provider", "p"}}}
            },
        };
    }

    void step() {
        const std::string turn = "t" + std::to_string(turn_);
        switch (pick(16)) {
        case 0:
        case 1:
        case 2:
            translator_.translate(runner::text_delta{turn, piece()});
            break;
        case 3:
            translator_.translate(runner::reasoning_delta{"r" + turn, piece()});
            break;
        case 4: {
            calls_.push_back("c" + std::to_string(calls_.size()));
            const bool external = pick(2) == 0;
            (external ? external_ : unanswered_).push_back(calls_.back());
            translator_.translate(runner::call_started{calls_.back(), "f", turn, external});
            break;
        }
        case 5: {
            const std::string id = some_call();
            translator_.translate(runner::call_arguments{id, piece()});
            break;
        }
        case 6:
            translator_.translate(runner::turn_ended{});
            ++turn_;
            break;
        case 7: {
            const std::string id = some_call();
            translator_.translate(runner::call_executing{id, "f"});
            break;
        }
        case 8: {
            const boost::json::object segment{{"type", "card"}, {"title", piece()}};
            translator_.translate(runner::reply_segment{turn, &segment});
            break;
        }
        case 9:
            show_stored();
            break;
        case 10:
            change_state();
            break;
        case 11:
            change_activity();
            break;
        case 12:
            send_step_or_event();
            break;
        case 13:
            step_of_subagent();
            break;
        default:
            show_result(translator_);
        }
    }

    void show_result(agui_translator& translator) {
        if (unanswered_.empty()) {
            return;
        }
        const auto answered = unanswered_.begin() + pick(unanswered_.size());
        const std::string id = *answered;
        unanswered_.erase(answered);
        const session::content result = some_content();
        translator.translate(
            runner::call_result{"x" + std::to_string(now_) + id, id, &result, pick(2) == 0}
        );
    }

    /// Two subagents, one of which is announced and may begin again under another id.
    void step_of_subagent() {
        const std::string announced = "s" + std::to_string(subagents_);
        if (!is_announced_) {
            is_announced_ = true;
            translator_.translate(runner::subagent_started{announced, "a", "", "", "", ""});
        }
        const std::string id = !is_orderly_ && pick(3) == 0 ? "other" : announced;
        const std::string turn = "t" + id;
        switch (pick(6)) {
        case 0:
        case 1:
            translator_.translate(runner::text_delta{turn, piece()}, id);
            break;
        case 2:
            translator_.translate(runner::reasoning_delta{"r" + turn, piece()}, id);
            break;
        case 3:
        case 4: {
            const std::string call = id + "c" + std::to_string(++inner_calls_);
            translator_.translate(runner::call_started{call, "f", turn, false}, id);
            translator_.translate(runner::call_arguments{call, piece()}, id);
            if (id == announced) {
                inner_unanswered_.push_back(call);
            }
            break;
        }
        default:
            end_subagent(translator_);
        }
    }

    void end_subagent(agui_translator& translator) {
        const std::string id = "s" + std::to_string(subagents_);
        const session::content result = piece();
        for (const std::string& call : std::exchange(inner_unanswered_, {})) {
            translator.translate(runner::call_result{"x" + call, call, &result, false}, id);
        }
        if (std::exchange(is_announced_, false)) {
            translator.translate(runner::subagent_ended{id});
            ++subagents_;
        }
    }

    void change_state() {
        const bool is_new = state_.is_null() || pick(4) == 0;
        std::string patch;
        if (is_new) {
            state_ = {{"a", some_value()}, {"list", boost::json::array{1}}};
        } else {
            boost::json::array operations;
            for (int count = pick(3); count >= 0; --count) {
                // Each applies to every state of this run.
                boost::json::array choices{
                    {{"op", "add"}, {"path", "/list/-"}, {"value", some_value()}},
                    {{"op", "replace"}, {"path", "/a"}, {"value", some_value()}},
                    {{"op", "copy"}, {"from", "/a"}, {"path", "/b~1c~0d"}},
                    {{"op", "test"}, {"path", "/list/0"}, {"value", 1}},
                };
                operations.push_back(choices[static_cast<std::size_t>(pick(choices.size()))]);
            }
            patch = boost::json::serialize(operations);
        }
        const json_text document(boost::json::serialize(state_));
        translator_.translate(runner::state_shown{&document, patch});
    }

    void change_activity() {
        if (activities_ == 0 || pick(2) == 0) {
            session::message activity;
            activity.role = session::role::activity;
            activity.id = "act" + std::to_string(activities_++);
            activity.activity_type = "card";
            activity.activity = {{"n", pick(9)}, {"text", piece()}};
            if (pick(2) == 0) {
                activity.metadata = boost::json::object{{"m", nullptr}};
            }
            translator_.translate(runner::activity_shown{&activity, pick(2) == 0});
            return;
        }
        const std::string patch = boost::json::serialize(
            boost::json::array{{{"op", "add"}, {"path", "/n"}, {"value", some_value()}}}
        );
        const std::string id = "act" + std::to_string(pick(static_cast<std::size_t>(activities_)));
        translator_.translate(runner::activity_patched{id, "card", patch});
    }

    void send_step_or_event() {
        const std::string value = boost::json::serialize(some_value());
        const std::string name = "step" + std::to_string(pick(3));
        switch (pick(4)) {
        case 0:
            translator_.translate(runner::step_started{name});
            break;
        case 1:
            translator_.translate(runner::step_finished{name});
            break;
        case 2:
            translator_.translate(runner::custom_sent{"of-the-application", value});
            break;
        default:
            translator_.translate(runner::raw_sent{value, pick(2) == 0 ? "" : "elsewhere"});
        }
    }

    /// Messages of earlier runs, for a client that lacks them.
    void show_earlier() {
        std::vector<session::message> messages(4);
        messages[0].id = "e1";
        messages[0].content = some_content();
        messages[1].id = "e2";
        messages[1].role = session::role::assistant;
        messages[1].tool_calls.push_back({"ec", "f", piece(), {}, {}});
        messages[1].tool_calls[0].encrypted_value = "sealed";
        messages[1].tool_calls[0].encrypted_value_type = "p.kind";
        messages[2].id = "e3";
        messages[2].role = session::role::tool;
        messages[2].tool_call_id = "ec";
        messages[2].content = some_content();
        messages[2].error = pick(2) == 0 ? std::optional(piece()) : std::nullopt;
        messages[3].id = "e4";
        messages[3].role = session::role::reasoning;
        messages[3].content = piece();
        messages[3].encrypted_value = "sealed";
        messages[3].encrypted_value_type = "p.kind";
        translator_.translate(runner::messages_snapshot{&messages});
    }

    /// A snapshot of the messages so far, some of which a plugin has changed or left out.
    void show_stored() {
        said_messages said;
        for (const std::string& event : stream_.all) {
            said.read(boost::json::parse(event).as_object());
        }
        std::vector<session::message> stored;
        for (session::message message : said.messages()) {
            if (pick(3) == 0) {
                message.content = piece();
            }
            if (pick(6) != 0) {
                stored.push_back(std::move(message));
            }
        }
        translator_.translate(runner::messages_snapshot{&stored});
    }

    std::mt19937 random_;
    bool is_orderly_;
    recorded_events stream_;
    agui_translator translator_;
    unix_ms now_ = 1000;
    int turn_ = 0;
    std::vector<std::string> calls_;
    std::vector<std::string> external_;
    std::vector<std::string> unanswered_; ///< Calls of the server without a result.
    boost::json::value state_;            ///< The last snapshot; null without one.
    int activities_ = 0;
    int subagents_ = 0; ///< Those that have ended; the next one has this number.
    bool is_announced_ = false;
    int inner_calls_ = 0;
    std::vector<std::string>
        inner_unanswered_; ///< Calls of the announced subagent without a result.
};

} // namespace agui::translator
