#include "gateway/peers/peer_reader.hpp"

#include "gateway/peers/entry_frames.hpp"
#include "gateway/peers/peer_request.hpp"
#include "runner/base/stop_source.hpp"
#include "session/base/pause.hpp"

#include <boost/asio/co_spawn.hpp>

#include <chrono>
#include <exception>
#include <string_view>
#include <utility>

namespace agui::gateway {

namespace asio = boost::asio;

namespace {

// Limit for telling the other gateway that the readers left, and then for its ending of the stream.
constexpr std::chrono::seconds leave_time{2};

// Shared with report_leaving(), which makes the other gateway end the stream.
struct reading {
    explicit reading(const asio::any_io_executor& executor) : stop(executor) {}
    runner::stop_source stop;
    bool is_leaving = false;
    bool is_over = false;
};

asio::awaitable<void>
report_leaving(std::shared_ptr<peer> from, std::int64_t stream, std::shared_ptr<reading> reading) {
    peer_request what;
    what.stream = stream;
    const auto answer = co_await from->send(
        runner::http_method::post, peer_leave_path, write_peer_request(what), leave_time,
        peer::in_pause::is_sent
    );
    if (answer && (*answer)->status() == 204 && !reading->is_over) {
        co_await pause(leave_time);
    }
    (void)reading->stop.request(runner::stop_reason::cancelled);
}

class peer_reader final : public entry_reader {
public:
    peer_reader(
        const asio::any_io_executor& executor, std::shared_ptr<peer> from,
        std::unique_ptr<runner::transport_response> answer, std::uint64_t after, std::int64_t stream
    )
        : executor_(executor),
          from_(std::move(from)),
          answer_(std::move(answer)),
          stream_(stream),
          reading_(std::make_shared<reading>(executor)),
          frames_(after),
          pulse_(from_, executor, [at = reading_] {
              (void)at->stop.request(runner::stop_reason::cancelled);
          }) {}

    asio::awaitable<run_entries> read() override {
        run_entries out;
        const auto goes_on = co_await reading_->stop.run(read_some(out));
        if (!goes_on.value_or(false) && !out.end) {
            out.end = reading_->is_leaving ? entries_end::left : entries_end::lost;
        }
        reading_->is_over = out.end.has_value();
        co_return out;
    }

    void leave(session::leaving how) override {
        if (std::exchange(reading_->is_leaving, true)) {
            return;
        }
        if (how == session::leaving::cut_off) {
            (void)reading_->stop.request(runner::stop_reason::cancelled);
            return;
        }
        // Closing the connection would count as cut off: the other gateway ends the stream.
        asio::co_spawn(
            executor_, report_leaving(from_, stream_, reading_),
            [at = reading_](const std::exception_ptr& thrown) {
                if (thrown) {
                    (void)at->stop.request(runner::stop_reason::cancelled);
                }
            }
        );
    }

private:
    // Returns false if nothing more will come. The bytes are valid only until this thread does
    // other work.
    asio::awaitable<bool> read_some(run_entries& out) {
        const auto piece = co_await answer_->read();
        co_return piece && !piece->empty() && frames_.add(*piece, out);
    }

    const asio::any_io_executor executor_;
    const std::shared_ptr<peer> from_;
    const std::unique_ptr<runner::transport_response> answer_;
    const std::int64_t stream_;
    const std::shared_ptr<reading> reading_;
    entry_frame_reader frames_;
    const peer::stream pulse_; ///< Last, because it may cut the others.
};

} // namespace

std::unique_ptr<entry_reader> make_peer_reader(
    const asio::any_io_executor& executor, std::shared_ptr<peer> from,
    std::unique_ptr<runner::transport_response> answer, std::uint64_t after, std::int64_t stream
) {
    return std::make_unique<peer_reader>(
        executor, std::move(from), std::move(answer), after, stream
    );
}

} // namespace agui::gateway
