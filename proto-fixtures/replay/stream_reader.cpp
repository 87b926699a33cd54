#include "proto-fixtures/replay/stream_reader.hpp"

#include "translator/verifier/verifier.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/json/parse.hpp>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace agui::replay {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

/// Splits the bytes of a stream into frames.
class frame_decoder {
public:
    frame_decoder(translator::projection projection, read_stream& out)
        : dense_(projection == translator::projection::v1_1), out_(out) {}

    void feed(std::string_view bytes) {
        pending_.append(bytes);
        std::size_t begin = 0;
        for (std::size_t end = pending_.find("\n\n"); end != std::string::npos;
             end = pending_.find("\n\n", begin)) {
            frame(std::string_view(pending_).substr(begin, end - begin));
            begin = end + 2;
        }
        pending_.erase(0, begin);
    }

    void finish() {
        if (!pending_.empty()) {
            complain("the stream ends inside a frame: " + pending_);
        }
        if (const auto problem = verifier_.end()) {
            complain(*problem);
        }
    }

private:
    void frame(std::string_view text) {
        // The only frame without a number is the end of a run whose store is lost.
        if (text.starts_with("id: ")) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            number(text.substr(4, end - 4));
            text.remove_prefix(std::min(end + 1, text.size()));
        }
        if (!text.starts_with("data: ") || text.find_first_of("\r\n") != std::string_view::npos) {
            complain("a frame must be an id line and one data line: " + std::string(text));
            return;
        }
        text.remove_prefix(6);
        if (const auto problem = verifier_.check(text)) {
            complain("event " + std::to_string(out_.events.size() + 1) + ": " + *problem);
        }
        boost::system::error_code ec;
        const json::value event = json::parse(text, ec);
        if (!ec && event.is_object()) {
            out_.events.push_back(event.get_object());
        }
    }

    void number(std::string_view digits) {
        std::uint64_t value = 0;
        const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        const bool whole = parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
        if (!whole || value <= last_ || (dense_ && value != last_ + 1)) {
            complain("id " + std::string(digits) + " follows id " + std::to_string(last_));
        }
        last_ = value;
    }

    void complain(std::string problem) { out_.problems.push_back(std::move(problem)); }

    bool dense_; ///< Other projections may skip numbers.
    read_stream& out_;
    translator::event_verifier verifier_;
    std::string pending_;
    std::uint64_t last_ = 0;
};

} // namespace

asio::awaitable<read_stream> read_log(
    std::shared_ptr<gateway::event_log> log, translator::projection projection,
    progress_handler progress
) {
    read_stream out;
    frame_decoder decoder(projection, out);
    gateway::run_stream_request what;
    what.log = std::move(log);
    what.projection = projection;
    gateway::run_stream stream(std::move(what));
    stream.open(co_await asio::this_coro::executor);
    gateway::event_source::batch batch;
    while (true) {
        stream.read(std::size_t{64} << 10U, batch);
        decoder.feed(batch.bytes);
        if (batch.ended) {
            out.ended = true;
            decoder.finish();
            co_return out;
        }
        if (!batch.bytes.empty()) {
            if (progress && !co_await progress(out.events.size())) {
                co_return out;
            }
            continue;
        }
        co_await stream.wait();
    }
}

} // namespace agui::replay
