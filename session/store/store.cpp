#include "session/store/store.hpp"

#include "session/store/thread_views.hpp"

#include <utility>

namespace agui::session {

namespace asio = boost::asio;

asio::awaitable<result<std::optional<std::vector<branch_summary>>>> store::branches(thread_key key
) {
    const auto thread = co_await load(std::move(key));
    if (!thread) {
        co_return thread.error();
    }
    co_return *thread ? std::optional(branches_of(**thread)) : std::nullopt;
}

asio::awaitable<result<located_run>> store::locate_run(thread_key key, std::string run_id) {
    auto run = co_await find_run(key, std::move(run_id));
    if (!run) {
        co_return run.error();
    }
    if (!run->has_value() || (*run)->status != run_status::active) {
        co_return located_run{std::move(*run), std::nullopt};
    }
    auto by = co_await holder(std::move(key));
    if (!by) {
        co_return by.error();
    }
    co_return located_run{std::move(*run), std::move(*by)};
}

asio::awaitable<result<std::vector<left_request>>>
store::claim_queued(std::vector<std::int64_t> known, std::size_t limit) {
    (void)known;
    (void)limit;
    co_return std::vector<left_request>();
}

asio::awaitable<result<bool>> store::take_over_queued(std::int64_t number, std::int64_t from) {
    (void)number;
    (void)from;
    co_return true;
}

asio::awaitable<result<void>> store::leave_queued(std::int64_t number) {
    (void)number;
    co_return result<void>();
}

asio::awaitable<result<void>> store::request_stop(stop_request request) {
    (void)request;
    co_return result<void>();
}

asio::awaitable<result<void>> store::note_reader(thread_key key, std::string run_id) {
    (void)key;
    (void)run_id;
    co_return result<void>();
}

asio::awaitable<result<void>> store::announce(std::string url, std::string secret) {
    (void)url;
    (void)secret;
    co_return result<void>();
}

asio::awaitable<result<std::optional<peer_address>>> store::find_gateway(std::int64_t number) {
    (void)number;
    co_return std::optional<peer_address>();
}

asio::awaitable<result<std::vector<peer_address>>> store::other_gateways() {
    co_return std::vector<peer_address>();
}

} // namespace agui::session
