#include "proto-fixtures/replay/frame_reader.hpp"

#include "gateway/log/chat_stream.hpp"
#include "proto-fixtures/replay/added_messages.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace agui::replay {

namespace asio = boost::asio;
namespace json = boost::json;
using translator::chat_messages;
using translator::chat_mode;

namespace {

struct numbered_frame {
    std::uint64_t id = 0; ///< 0 if none.
    json::object frame;
};

numbered_frame read_frame(std::string_view text) {
    constexpr std::string_view id = "id: ";
    constexpr std::string_view data = "data: ";
    numbered_frame read;
    if (text.starts_with(id)) {
        read.id = std::strtoull(text.data() + id.size(), nullptr, 10);
    }
    const std::size_t at = text.find(data);
    if (at != std::string_view::npos) {
        read.frame = json::parse(text.substr(at + data.size())).as_object();
    }
    return read;
}

asio::awaitable<std::vector<numbered_frame>> read_frames(gateway::chat_stream_request what) {
    constexpr std::string_view frame_end = "\n\n";
    gateway::chat_stream stream(what);
    stream.open(co_await asio::this_coro::executor);
    gateway::event_source::batch batch;
    std::vector<numbered_frame> frames;
    while (!batch.ended) {
        stream.read(std::size_t{64} << 10U, batch);
        std::string_view rest = batch.bytes;
        while (!rest.empty()) {
            const std::size_t end = rest.find(frame_end);
            frames.push_back(read_frame(rest.substr(0, end)));
            rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 2);
        }
    }
    co_return frames;
}

std::vector<json::object> frames_of(
    const std::vector<json::object>& events, const gateway::chat_stream_request& what,
    chat_mode mode
) {
    chat_messages messages(what.session_id, what.message_id, mode);
    std::vector<json::object> frames;
    for (const json::object& event : events) {
        messages.take(json::serialize(event));
        if (messages.changed()) {
            std::string frame;
            messages.write_frame(frame);
            frames.push_back(json::parse(frame).as_object());
        }
    }
    return frames;
}

bool is_finished(const json::object& frame) { return frame.at("msgStatus") == "finished"; }

} // namespace

asio::awaitable<read_run_frames> read_frames(
    std::shared_ptr<gateway::event_log> log, const std::vector<json::object>& events,
    std::string session_id, std::string message_id
) {
    gateway::chat_stream_request what;
    what.log = std::move(log);
    what.session_id = std::move(session_id);
    what.message_id = std::move(message_id);
    read_run_frames out;
    out.incremental = frames_of(events, what, chat_mode::incremental);
    out.full = frames_of(events, what, chat_mode::full);
    for (const auto* frames : {&out.incremental, &out.full}) {
        for (const json::object& frame : *frames) {
            if (is_finished(frame) != (&frame == &frames->back())) {
                out.problems.emplace_back(
                    "`finished` must be said by the last frame, and only there"
                );
            }
        }
    }
    if (out.incremental.empty() || out.full.empty()) {
        out.problems.emplace_back("the run has no frames");
        co_return out;
    }
    if (add_up(out.incremental) != out.full.back().at("messages")) {
        out.problems.emplace_back("the incremental frames do not add up to the last full one");
    }
    const std::vector<numbered_frame> whole = co_await read_frames(what);
    for (std::size_t known = 0; known <= whole.size(); ++known) {
        what.after = known == 0 ? 0 : whole[known - 1].id;
        if (known > 0 && what.after == 0) {
            break; // The end of a run that could not be stored.
        }
        std::vector<json::object> rest;
        for (numbered_frame& one : co_await read_frames(what)) {
            rest.push_back(std::move(one.frame));
        }
        const auto tail = out.incremental.begin() + static_cast<std::ptrdiff_t>(known);
        if (rest != std::vector<json::object>(tail, out.incremental.end())) {
            out.problems.push_back(
                "other incremental frames after id " + std::to_string(what.after)
            );
        }
    }
    what.after = 0;
    what.mode = chat_mode::full;
    const std::vector<numbered_frame> last = co_await read_frames(what);
    if (last.size() != 1 || last.front().frame != out.full.back()) {
        out.problems.emplace_back("a reader in full mode does not get the last full frame alone");
    }
    co_return out;
}

} // namespace agui::replay
