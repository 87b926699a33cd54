#pragma once

#include "runner/base/deadline_sweep.hpp"
#include "runner/http/http_client.hpp"
#include "runner/http/http_connection.hpp"
#include "runner/http/http_response_reader.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// One request and its response on one connection. Owns the connection. When the response has
/// ended, it returns the connection to the pool; otherwise it closes it.
class http_exchange final : public transport_response, private deadline_sweep::watch {
public:
    http_exchange(
        const boost::asio::any_io_executor& executor, std::shared_ptr<http_origin> origin
    );

    /// Uses a connection from the pool instead of connect().
    void use(std::unique_ptr<http_connection> connection) { connection_ = std::move(connection); }

    /// Looks the host up and connects to the first of its addresses that answers, TLS included.
    [[nodiscard]] boost::asio::awaitable<transport_result<void>> connect();

    /// Writes the request (`head` holds the header, its empty line included) and reads the
    /// response's header. Both views must outlive the await.
    [[nodiscard]] boost::asio::awaitable<transport_result<void>>
    perform(std::string_view head, std::string_view body);

    /// True if perform() failed because the peer closed the connection before the first byte of the
    /// answer.
    [[nodiscard]] bool stale() const noexcept { return stale_; }

    [[nodiscard]] int status() const noexcept override { return reader_.status(); }
    [[nodiscard]] std::string_view header(std::string_view name) const noexcept override {
        return reader_.field(name);
    }
    void keep_headers(std::span<const std::string_view> names) override;
    [[nodiscard]] boost::asio::awaitable<transport_result<std::string_view>> read() override;
    [[nodiscard]] boost::asio::awaitable<void> read_parts(part_taker& to) override;
    void wait_first(std::chrono::milliseconds time) noexcept override;
    void was_idle() noexcept override;

private:
    using time_point = std::chrono::steady_clock::time_point;
    using endpoints = std::vector<boost::asio::ip::tcp::endpoint>;

    [[nodiscard]] boost::asio::awaitable<transport_result<endpoints>> resolve(time_point deadline);
    /// One side of an exchange whose request takes long to write.
    struct side {
        transport_result<void> outcome;
        bool over = true; ///< The other side has nothing more to do.
    };
    struct until_over;
    template <class Caller>
    class body_wait;

    [[nodiscard]] boost::asio::awaitable<transport_result<void>>
    write_piece(std::string_view& head, std::string_view& body);
    [[nodiscard]] boost::asio::awaitable<side>
    write_rest(std::string_view head, std::string_view body);
    [[nodiscard]] boost::asio::awaitable<transport_result<void>>
    write_while_reading(std::string_view head, std::string_view body);
    [[nodiscard]] boost::asio::awaitable<transport_result<void>> read_header();
    [[nodiscard]] boost::asio::awaitable<side> read_early_header();
    void await_first_byte();
    [[nodiscard]] bool begin_read();
    void begin_idle();
    void arm_read();
    [[nodiscard]] std::chrono::seconds keep_time() const;
    [[nodiscard]] bool pass_parts(part_taker& to);
    [[nodiscard]] bool begin_wait();
    [[nodiscard]] bool end_wait(const http_connection::io_result& outcome, part_taker& to);
    void stop_wait() noexcept;
    [[nodiscard]] std::string_view take_buffered();
    [[nodiscard]] std::string_view read_shared();
    void keep(std::span<const char> rest);
    [[nodiscard]] std::optional<transport_failure>
    end_read(const http_connection::io_result& outcome, bool by_us);
    [[nodiscard]] transport_failure
    why(transport_failure::kind kind, const boost::system::error_code& ec, bool by_us) const;
    [[nodiscard]] const transport_failure& give_up(const transport_failure& why);
    void expired() noexcept override;
    void complete();

    boost::asio::any_io_executor executor_;
    std::shared_ptr<http_origin> origin_;
    std::unique_ptr<http_connection> connection_;
    http_response_reader reader_;
    bool readable_ = false; ///< A plain stream has data, or its end, to receive.
    bool stopped_ = false;  ///< The caller of read_parts() was cancelled.
    std::string buffer_;
    /// Range of the received bytes in the buffer that are not consumed yet.
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    bool undecoded_ = false; ///< Some of them have arrived since the body was last decoded.
    time_point first_byte_deadline_;
    std::optional<transport_failure> failure_; ///< Why no more can be read.
    time_point idle_since_;
    time_point idle_deadline_;
    /// The rest of the idle time if the last bytes did not restart it, or the rest of wait_first().
    std::chrono::steady_clock::duration idle_left_{0};
    bool idle_goes_on_ = false;
    /// The deadline belongs to the write, while a read waits as well.
    bool writing_ = false;
    bool cut_short_ = false; ///< The request was not written completely.
    bool received_ = false;
    bool timed_out_ = false;
    bool stale_ = false;
    bool ended_ = false;
};

} // namespace agui::runner
