#pragma once

#include "gateway/log/event_log.hpp"

#include "tests/support/coroutine_test.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

using translator::projection;
using translator::wire_event;

inline constexpr std::string_view started =
    R"({"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.1"})";
inline constexpr std::string_view started_older =
    R"({"type":"RUN_STARTED","threadId":"t","runId":"r"})";
inline constexpr std::string_view text_start =
    R"({"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"})";
inline constexpr std::string_view text_end = R"({"type":"TEXT_MESSAGE_END","messageId":"m"})";
inline constexpr std::string_view finished =
    R"({"type":"RUN_FINISHED","threadId":"t","runId":"r"})";

inline std::string delta(std::string_view text) {
    return R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":")" + std::string(text) +
           "\"}";
}

inline std::string frame(std::uint64_t sequence, std::string_view json) {
    return "id: " + std::to_string(sequence) + "\ndata: " + std::string(json) + "\n\n";
}

struct appended_slice {
    session::log_slice slice;
    std::shared_ptr<session::log_observer> observer;
};

// A store that only takes logs, which become durable when the test lets them.
class log_only_store : public session::store {
public:
    std::vector<appended_slice> log;

    void
    append_log(const session::log_slice& slice, const std::shared_ptr<session::log_observer>& observer, const session::lease_ptr&)
        override {
        log.push_back({slice, observer});
    }
    bool keeps_logs() const noexcept override { return true; }
    std::string_view signing_key() const noexcept override { return {}; }
    void close() override {}
    void release(const session::lease_ptr&) noexcept override {}
    boost::asio::awaitable<result<std::optional<session::thread_holder>>> holder(session::thread_key
    ) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<session::lease_ptr>>
    acquire(session::thread_key, std::string) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::optional<session::thread_record>>> load(session::thread_key
    ) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::optional<session::thread_summary>>>
    summary(session::thread_key) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::optional<json_text>>> state(session::thread_key) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::optional<std::vector<session::pending_call>>>>
    pending_calls(session::thread_key) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<session::call_claim>>
    claim_call(session::thread_key, session::call_claim, unix_ms) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<bool>>
    replace_title(session::thread_key, std::string, std::string) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<view>> look_up(session::thread_key, std::string) override {
        co_return failure{};
    }
    boost::asio::awaitable<result<std::optional<session::run_record>>>
    find_run_by_key(session::thread_key, std::string) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<session::begun_run>> begin(
        session::thread_key, session::run_record, session::changes, std::optional<std::uint64_t>,
        session::lease_ptr
    ) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<void>> commit(
        session::thread_key, session::changes, std::optional<session::log_slice>, session::held_by
    ) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::vector<session::log_entry>>>
    read_log(std::int64_t, std::uint64_t, std::size_t) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::int64_t>>
    enqueue(session::thread_key, session::queued_request, session::queue_limits) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::vector<session::queued_request>>> queued(session::thread_key
    ) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<bool>> withdraw(session::thread_key, std::int64_t) override {
        throw std::logic_error("not used");
    }
    void keep_attempt(session::failed_attempt) override { throw std::logic_error("not used"); }
    boost::asio::awaitable<result<void>>
    keep_attachment(session::thread_key, session::attachment, std::uint64_t) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::optional<session::attachment>>>
    find_attachment(session::thread_key, std::string) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<bool>>
    set_access(session::thread_key, std::vector<session::access_entry>, std::string) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::optional<session::thread_access>>>
    access_of(session::thread_key) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::optional<session::shared_thread>>>
    find_shared(std::string, std::string) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<session::usage_reservation>>
    reserve_usage(std::vector<session::usage_claim>, session::usage_amount, unix_ms) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<void>> settle_usage(session::usage_settlement) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<session::usage_reading>>
    read_usage(std::vector<std::string>, unix_ms) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::uint64_t>> bytes_of_principal(std::string) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::optional<session::run_record>>>
    find_run(session::thread_key, std::string) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::optional<session::run_record>>>
    latest_run(session::thread_key) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::vector<std::string>>>
    principals(std::optional<std::string>, std::size_t) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::vector<session::run_record>>>
    runs(session::thread_key, std::int64_t, std::size_t) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::vector<std::string>>> attachment_digests(session::thread_key
    ) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<bool>> restore(session::whole_thread) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<session::forgotten_principal>> forget_principal(std::string
    ) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<void>> scrub() override { throw std::logic_error("not used"); }
    boost::asio::awaitable<result<session::thread_page>> list(session::thread_query) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::vector<session::session_event>>>
    events(session::thread_key, std::uint64_t, std::size_t) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<bool>> remove(session::thread_key) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::vector<orphan>>> orphans(session::lease_ptr) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<std::vector<session::lease_ptr>>> claim_orphans(std::size_t
    ) override {
        throw std::logic_error("not used");
    }
    boost::asio::awaitable<result<void>> drop_logs(log_limits) override {
        throw std::logic_error("not used");
    }
};

class EventLog : public test::coroutine_test {
protected:
    std::shared_ptr<event_log> make(session::store* store = nullptr, bool relaxed = false) {
        return std::make_shared<event_log>(
            context().get_executor(), event_log::settings{store, 7, relaxed}
        );
    }

    // Runs the handlers that were posted.
    void settle() {
        context().restart();
        context().poll();
    }

    static void add(event_log& log, std::string_view json) { log.on_event({json, {}, {}, false}); }
    static void add_terminal(event_log& log, std::string_view json) {
        log.on_event({json, {}, {}, true});
    }

    static std::string
    read_all(event_log& log, event_log::cursor& at, std::size_t most = 1U << 20U) {
        std::string text;
        for (std::string next = " "; !next.empty();) {
            next.clear();
            (void)log.read(at, sse_form(), most, next);
            text += next;
        }
        return text;
    }
};

} // namespace agui::gateway
