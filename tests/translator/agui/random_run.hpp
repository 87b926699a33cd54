#pragma once

#include "translator/agui/agui_translator.hpp"
#include "translator/agui/open_brackets.hpp"
#include "translator/agui/said_messages.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <cstddef>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace agui::translator {

/// Keeps the events in their newest form.
class recorded_events final : public wire_sink {
public:
    void on_event(const wire_event& event) override { all.emplace_back(event.json); }
    std::vector<std::string> all;
};

/// A random run: the steps of agents in any order, even one that no agent has.
class random_run {
public:
    explicit random_run(unsigned seed) : random_(seed), translator_(stream_, {}) {
        translator_.set_time(now_);
        translator_.start({"s", "m", {}});
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

private:
    void finish(agui_translator& translator) {
        runner::run_end end;
        end.reason = reasons[static_cast<std::size_t>(pick(std::size(reasons)))];
        if (pick(2) == 0) {
            end.pending_call_ids = calls_;
        }
        translator.finish(end);
    }

    static constexpr runner::stop_reason reasons[] = {
        runner::stop_reason::completed,     runner::stop_reason::external_tool,
        runner::stop_reason::cancelled,     runner::stop_reason::max_rounds,
        runner::stop_reason::model_timeout, runner::stop_reason::error,
    };
    static constexpr const char* pieces[] = {"a",  "\"",  "\\",  "\n", "你",
                                             "{}", "\",", "\"}", "😀", " and so on"};

    int pick(std::size_t below) { return static_cast<int>(random_() % below); }
    std::string piece() { return pieces[static_cast<std::size_t>(pick(std::size(pieces)))]; }
    std::string some_call() {
        return calls_.empty() ? "none" : calls_[static_cast<std::size_t>(pick(calls_.size()))];
    }

    void step() {
        const std::string turn = "t" + std::to_string(turn_);
        switch (pick(12)) {
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
            translator_.translate(runner::call_started{calls_.back(), "f", turn, pick(2) == 0});
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
            step_of_subagent();
            break;
        default: {
            const std::string id = some_call();
            const session::content result = piece();
            translator_.translate(
                runner::call_result{"x" + std::to_string(now_), id, &result, pick(2) == 0}
            );
        }
        }
    }

    /// Two subagents, one of which is announced and may begin again under another id.
    void step_of_subagent() {
        const std::string announced = "s" + std::to_string(subagents_);
        const std::string id = pick(3) == 0 ? "other" : announced;
        const std::string turn = "t" + id;
        switch (pick(6)) {
        case 0:
        case 1:
            translator_.translate(runner::text_delta{turn, piece()}, id);
            break;
        case 2:
            translator_.translate(runner::reasoning_delta{"r" + turn, piece()}, id);
            break;
        case 3: {
            const std::string call = id + "c" + std::to_string(++inner_calls_);
            translator_.translate(runner::call_started{call, "f", turn, false}, id);
            translator_.translate(runner::call_arguments{call, piece()}, id);
            break;
        }
        case 4:
            translator_.translate(runner::subagent_started{announced, "a", "", "", "", ""});
            break;
        default:
            translator_.translate(runner::subagent_ended{announced});
            ++subagents_;
        }
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
    recorded_events stream_;
    agui_translator translator_;
    unix_ms now_ = 1000;
    int subagents_ = 0;
    int inner_calls_ = 0;
    int turn_ = 0;
    std::vector<std::string> calls_;
};

} // namespace agui::translator
