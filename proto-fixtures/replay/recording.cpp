#include "proto-fixtures/replay/recording.hpp"

#include "gateway/log/ai_stream.hpp"
#include "gateway/log/run_stream.hpp"
#include "translator/agui/protocol_version.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/json/serialize.hpp>

#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace agui::replay {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

constexpr translator::projection projections[] = {
    translator::projection::v1_1, translator::projection::v1_0, translator::projection::undeclared
};

/// All bytes of a reader of a log that has ended.
asio::awaitable<std::string> bytes_of(std::unique_ptr<gateway::event_source> stream) {
    stream->open(co_await asio::this_coro::executor);
    std::string out;
    gateway::event_source::batch batch;
    while (!batch.ended) {
        stream->read(std::size_t{64} << 10U, batch);
        out += batch.bytes;
        if (!batch.ended && batch.bytes.empty()) {
            co_await stream->wait();
        }
    }
    co_return out;
}

asio::awaitable<std::string> bytes_of(
    std::shared_ptr<gateway::event_log> log, translator::projection projection,
    const gateway::stream_form& form
) {
    gateway::run_stream_request what;
    what.log = std::move(log);
    what.projection = projection;
    what.form = &form;
    co_return co_await bytes_of(std::make_unique<gateway::run_stream>(std::move(what)));
}

asio::awaitable<std::string> ai_bytes_of(std::shared_ptr<gateway::event_log> log) {
    gateway::ai_stream_request what;
    what.log = std::move(log);
    what.start.message_id = "answer";
    co_return co_await bytes_of(std::make_unique<gateway::ai_stream>(std::move(what)));
}

} // namespace

recording::recording(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
}

asio::awaitable<void>
recording::add_run(const json::value& input, std::shared_ptr<gateway::event_log> log) {
    const std::string number = std::to_string(++runs_);
    is_new_ = true;
    if (!input.is_null()) {
        write(number + ".input.json", json::serialize(input));
    }
    for (const translator::projection projection : projections) {
        const std::string name = number + "." + std::string(to_string(projection));
        write(name + ".sse", co_await bytes_of(log, projection, gateway::sse_form()));
        write(name + ".pb", co_await bytes_of(log, projection, gateway::protobuf_form()));
    }
    write(number + ".ai.sse", co_await ai_bytes_of(log));
}

asio::awaitable<void> recording::add_history(gateway::run_service& service, std::string thread_id) {
    if (!std::exchange(is_new_, false)) {
        co_return;
    }
    for (const translator::projection projection : projections) {
        translator::run_input input;
        input.thread_id = thread_id;
        input.run_id = "history";
        input.projection = projection;
        const session::thread_key key{{}, input.thread_id};
        const auto shown = co_await service.history(key, input, key);
        if (!shown) {
            throw std::runtime_error("the history cannot be read: " + shown.error().detail);
        }
        const std::string name = std::to_string(runs_) + "." + std::string(to_string(projection));
        write(
            name + ".history.sse", co_await bytes_of(shown->log, projection, gateway::sse_form())
        );
    }
}

void recording::write(std::string_view name, std::string_view bytes) const {
    const std::filesystem::path path = folder_ / name;
    std::ofstream file(path, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) {
        throw std::system_error(errno, std::generic_category(), path.string());
    }
}

} // namespace agui::replay
