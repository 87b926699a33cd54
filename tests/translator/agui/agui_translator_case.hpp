#pragma once

#include "translator/agui/agui_translator.hpp"

#include "tests/translator/agui/recorded_stream.hpp"
#include "translator/agui/event_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace agui::translator::agui_translator_case {

using runner::stop_reason;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class AguiTranslator : public ::testing::Test {
protected:
    void
    start(const run_opening& opening = {.thread_id = "t", .run_id = "r", .parent_run_id = {}}) {
        translator_.set_time(7);
        translator_.start(opening);
    }

    void text(std::string_view message, std::string_view delta) {
        translator_.translate(runner::text_delta{message, delta});
    }
    void reasoning(std::string_view message, std::string_view delta) {
        translator_.translate(runner::reasoning_delta{message, delta});
    }
    void call(std::string_view id, std::string_view name, std::string_view parent = "m1") {
        translator_.translate(runner::call_started{id, name, parent, false});
    }
    void arguments(std::string_view id, std::string_view delta) {
        translator_.translate(runner::call_arguments{id, delta});
    }
    void ended(std::string_view id) { translator_.translate(runner::call_ended{id}); }
    void turn_ended() { translator_.translate(runner::turn_ended{}); }
    void result(std::string_view message, std::string_view id, const session::content& content) {
        translator_.translate(runner::call_result{message, id, &content, false});
    }
    void finish(stop_reason reason, std::vector<std::string> pending = {}) {
        runner::run_end end;
        end.reason = reason;
        end.pending_call_ids = std::move(pending);
        translator_.finish(end);
        stream_.expect_complete();
    }

    std::vector<std::string> losses_;
    test::recorded_stream stream_;
    agui_translator translator_{stream_, {.on_loss = [this](std::string_view type) {
                                    losses_.emplace_back(type);
                                }}};
};

} // namespace agui::translator::agui_translator_case
