#include "session/store/store.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace agui::session {

namespace asio = boost::asio;

namespace {

// Of a store that nobody else uses: nothing happens elsewhere.
class idle_watch final : public run_watch {
public:
    explicit idle_watch(const asio::any_io_executor& executor) : timer_(executor) {}

    asio::awaitable<void> wait_until(std::chrono::steady_clock::time_point deadline) override {
        timer_.expires_at(deadline);
        co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    void set_readers(std::size_t count) override { (void)count; }

private:
    asio::steady_timer timer_;
};

} // namespace

asio::awaitable<result<void>> store::request_stop(stop_request request) {
    (void)request;
    co_return result<void>();
}

std::unique_ptr<run_watch> store::watch(std::int64_t run_number, asio::any_io_executor executor) {
    (void)run_number;
    return std::make_unique<idle_watch>(executor);
}

} // namespace agui::session
