#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/http/http_client.hpp"
#include "session/base/memory_budget.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace agui::runner {

/// Decodes one streamed answer (the bytes of a body, cut anywhere) into a model_sink. Does no I/O.
/// Used by one coroutine.
class answer_decoder {
public:
    virtual ~answer_decoder() = default;

    /// Takes more of the body. Returns false if the answer is complete or has failed; further bytes
    /// are ignored.
    virtual bool feed(std::string_view bytes) = 0;

    /// True once text, reasoning, a call or, if the body is one document, a part of it came.
    [[nodiscard]] virtual bool begun() const noexcept = 0;
    /// True once everything that the model says has come. Usage or an end mark may follow, for
    /// which the caller waits only briefly.
    [[nodiscard]] virtual bool ending() const noexcept = 0;
    /// True once usage or the end mark has come, too, so that nothing more needs to be read.
    [[nodiscard]] virtual bool complete() const noexcept = 0;
    /// True if the answer can no longer become complete.
    [[nodiscard]] virtual bool failed() const noexcept = 0;
    /// True if the body is one document without events to count.
    [[nodiscard]] virtual bool whole() const noexcept = 0;
    /// Number of events of the dialect so far. Comments, pings and signs of life do not count: a
    /// server that sends nothing else is idle.
    [[nodiscard]] virtual std::size_t chunks() const noexcept = 0;

    /// Bytes of the body that it keeps: an incomplete part, and large parts.
    [[nodiscard]] virtual std::size_t kept() const noexcept { return 0; }

    /// Bytes of the answer that wait for parse_large(), because parsing them would block an I/O
    /// thread; 0 if there are none. All later bytes of the answer wait behind them.
    [[nodiscard]] virtual std::size_t large() const noexcept { return 0; }
    /// Parses the waiting bytes, on any thread; no other function may be called meanwhile.
    /// `budget`, which may be null, counts the memory.
    virtual void parse_large(memory_budget* budget) { (void)budget; }
    /// Delivers the parsed values and returns them, so that the caller can free them where that may
    /// take long.
    [[nodiscard]] virtual std::shared_ptr<void> deliver_large() { return nullptr; }

    /// Ends the body: feed() is not called again, but large() may be above 0 again.
    virtual void end() {}

    /// The outcome. Call it once, after end().
    [[nodiscard]] virtual model_outcome finish() = 0;

protected:
    answer_decoder() = default;
    answer_decoder(const answer_decoder&) = default;
    answer_decoder& operator=(const answer_decoder&) = default;
};

/// A request with this body, answered with server-sent events.
[[nodiscard]] inline transport_request event_stream_request(std::string target, std::string body) {
    transport_request request;
    request.target = std::move(target);
    request.headers.emplace_back("Accept", "text/event-stream");
    request.body = std::move(body);
    return request;
}

/// The dialect of one kind of model server: writes requests and reads answers. It knows no network.
/// One object serves any number of calls at a time, from any thread.
class model_dialect {
public:
    virtual ~model_dialect() = default;

    /// The method, target, headers and body for a call, without the parts that the endpoint's
    /// configuration adds (base URL, keys). Deterministic: the same call gives the same bytes.
    [[nodiscard]] virtual transport_request write_request(const model_request& call) const = 0;

    /// Name and value of the header with an API key: `Authorization`, unless the dialect has
    /// another one. The endpoint's configuration adds it.
    [[nodiscard]] virtual std::pair<std::string, std::string> key_header(std::string_view key
    ) const {
        return {"Authorization", "Bearer " + std::string(key)};
    }

    /// model_provider::binds_tools()
    [[nodiscard]] virtual bool binds_tools() const noexcept { return false; }
    /// model_provider::adds_tools()
    [[nodiscard]] virtual bool adds_tools() const noexcept { return false; }

    /// A decoder for the answer to one call. `sink` must outlive it.
    [[nodiscard]] virtual std::unique_ptr<answer_decoder>
    make_decoder(const model_parameters& asked, model_sink& sink) const = 0;
};

} // namespace agui::runner
