#include "session/store/store.hpp"

#include "session/base/change_signal.hpp"

namespace agui::session {

namespace asio = boost::asio;

namespace {

// Of a store that nobody else uses: nothing happens elsewhere.
class idle_watch final : public run_watch {
public:
    explicit idle_watch(const asio::any_io_executor& executor)
        : signal_(std::make_shared<change_signal>(executor)) {}

    asio::awaitable<void> wait_until(std::chrono::steady_clock::time_point deadline) override {
        return signal_->wait_until(deadline);
    }
    void wake() override { signal_->notify(); }
    void set_readers(std::size_t count, leaving how) override {
        (void)count;
        (void)how;
    }

private:
    const std::shared_ptr<change_signal> signal_;
};

} // namespace

asio::awaitable<result<std::vector<left_request>>> store::claim_queued(std::size_t limit) {
    (void)limit;
    co_return std::vector<left_request>();
}

asio::awaitable<result<void>> store::request_stop(stop_request request) {
    (void)request;
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

std::unique_ptr<run_watch>
store::watch(std::int64_t run_number, const asio::any_io_executor& executor) {
    (void)run_number;
    return std::make_unique<idle_watch>(executor);
}

} // namespace agui::session
