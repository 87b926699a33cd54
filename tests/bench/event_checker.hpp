#pragma once

#include "tests/bench/sse_decoder.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::bench {

// The raw text of a member of the outermost object of `json`, "" if it has none. Strings come with
// their quotes. For well-formed JSON; anything else gives some text or "", never a read out of
// range.
[[nodiscard]] std::string_view json_member(std::string_view json, std::string_view name);

// Measurements of the tokens of all streams of a round.
struct token_times {
    std::vector<std::int64_t> latency_ns;   // receive time minus the stamp inside the token
    std::vector<std::int64_t> mock_late_ns; // stamp minus the model mock's own schedule
    std::vector<std::int64_t> received_ns;
};

// Checks one stream of the model mock, direct or translated, token by token. Every index must come
// once and in order, between the start and the end that the protocol requires. Collects the times.
// The caller sets the receive time of some bytes before it feeds them.
class event_checker : public event_sink {
public:
    struct expectation {
        std::uint32_t tokens = 0;
        std::int64_t interval_ns = 0;
        std::string thread_id; // AG-UI only
        std::string run_id;    // AG-UI only
    };

    event_checker(expectation expected, token_times& times);

    void set_receive_time(std::int64_t ns) { receive_ns_ = ns; }
    [[nodiscard]] std::uint32_t tokens_seen() const { return next_token_; }
    // The stamp of the first token; 0 before that token has come.
    [[nodiscard]] std::int64_t first_stamp_ns() const { return first_stamp_ns_; }

    // Called at the clean end of the body. Returns "" if the stream was whole, otherwise its first
    // fault.
    [[nodiscard]] std::string at_end() const;

protected:
    // Takes a JSON string (with its quotes) of one or more tokens " t<index>.<ns>".
    [[nodiscard]] std::string take_tokens(std::string_view json_string);
    void set_ended() { ended_ = true; }
    [[nodiscard]] bool ended() const { return ended_; }
    [[nodiscard]] const expectation& expected() const { return expected_; }

private:
    expectation expected_;
    token_times& times_;
    std::int64_t receive_ns_ = 0;
    std::int64_t first_stamp_ns_ = 0;
    std::uint32_t next_token_ = 0;
    bool ended_ = false;
};

// Checks OpenAI Chat Completions: first the role chunk, then content, finish_reason "stop", and
// last [DONE].
class openai_checker final : public event_checker {
public:
    using event_checker::event_checker;
    [[nodiscard]] std::string on_event(std::string_view id, std::string_view data) override;

private:
    bool role_seen_ = false;
    bool stop_seen_ = false;
};

// Checks AG-UI: first RUN_STARTED with the request's ids, all content inside one open text message,
// last RUN_FINISHED, ids of the events strictly rising.
class agui_checker final : public event_checker {
public:
    using event_checker::event_checker;
    [[nodiscard]] std::string on_event(std::string_view id, std::string_view data) override;

private:
    [[nodiscard]] std::string take_id(std::string_view id);
    [[nodiscard]] std::string take_first(std::string_view type, std::string_view data);

    bool started_ = false;
    bool message_open_ = false;
    std::uint64_t last_id_ = 0;
};

// Checks a chat stream: only the last frame says `finished`, and there is one content. The tokens
// are its pieces or, in full mode, the text that a frame has more than the one before it.
class chat_checker final : public event_checker {
public:
    chat_checker(expectation expected, token_times& times, bool full)
        : event_checker(std::move(expected), times), full_(full) {}
    [[nodiscard]] std::string on_event(std::string_view id, std::string_view data) override;

private:
    const bool full_;
    std::size_t known_ = 0; // In full mode, the bytes of the content's text in the last frame.
};

} // namespace agui::bench
