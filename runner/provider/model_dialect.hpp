#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/http/http_client.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace agui::runner {

/// Decodes one streamed answer (the body's bytes, cut anywhere) into a model_sink. Does no I/O; of
/// one coroutine.
class answer_decoder {
public:
    virtual ~answer_decoder() = default;

    /// False: it takes no more, as the answer is whole or failed. Further bytes are ignored.
    virtual bool feed(std::string_view bytes) = 0;

    /// All that the model says has come; usage or an end mark may follow, and is waited for only
    /// briefly.
    [[nodiscard]] virtual bool ending() const noexcept = 0;
    /// Usage or the end mark has come as well: nothing more is read.
    [[nodiscard]] virtual bool complete() const noexcept = 0;
    /// The answer cannot become whole any more.
    [[nodiscard]] virtual bool failed() const noexcept = 0;
    /// The body is one document: it has no events that could be counted.
    [[nodiscard]] virtual bool whole() const noexcept = 0;
    /// Events of the dialect so far. Comments, pings and signs of life are none: a server that
    /// sends nothing else is idle.
    [[nodiscard]] virtual std::size_t chunks() const noexcept = 0;

    /// The outcome, once the body has ended. Called once, last.
    [[nodiscard]] virtual model_outcome finish() = 0;

protected:
    answer_decoder() = default;
    answer_decoder(const answer_decoder&) = default;
    answer_decoder& operator=(const answer_decoder&) = default;
};

/// How one kind of model server is spoken to: what a request looks like and how its answer is read.
/// Knows no network; one object serves any number of calls at a time, from any thread.
class model_dialect {
public:
    virtual ~model_dialect() = default;

    /// The method, target, headers and body for a call, without what the endpoint's configuration
    /// adds (base URL, keys). Deterministic: the same call gives the same bytes.
    [[nodiscard]] virtual transport_request write_request(const model_request& call) const = 0;

    /// The header that carries an API key: its name and value. The endpoint's configuration adds
    /// it.
    [[nodiscard]] virtual std::pair<std::string, std::string> key_header(std::string_view key
    ) const = 0;

    /// For the answer to one call. `sink` must outlive the decoder.
    [[nodiscard]] virtual std::unique_ptr<answer_decoder>
    make_decoder(const model_parameters& asked, model_sink& sink) const = 0;
};

} // namespace agui::runner
