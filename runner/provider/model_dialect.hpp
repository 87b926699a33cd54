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

    /// Takes more of the body. False: the answer is complete or has failed; further bytes are
    /// ignored.
    virtual bool feed(std::string_view bytes) = 0;

    /// True: text, reasoning, a call or, where the body is one document, a part of it has come.
    [[nodiscard]] virtual bool begun() const noexcept = 0;
    /// True: all that the model says has come. Usage or an end mark may follow, and is waited for
    /// only briefly.
    [[nodiscard]] virtual bool ending() const noexcept = 0;
    /// True: usage or the end mark has come as well, and nothing more needs to be read.
    [[nodiscard]] virtual bool complete() const noexcept = 0;
    /// True: the answer cannot become complete any more.
    [[nodiscard]] virtual bool failed() const noexcept = 0;
    /// True: the body is one document, without events that could be counted.
    [[nodiscard]] virtual bool whole() const noexcept = 0;
    /// How many events of the dialect have come. Comments, pings and signs of life are none: a
    /// server that sends nothing else is idle.
    [[nodiscard]] virtual std::size_t chunks() const noexcept = 0;

    /// What it keeps of the body, in bytes: a part that is not complete, and large parts.
    [[nodiscard]] virtual std::size_t kept() const noexcept { return 0; }

    /// How many bytes of the answer wait for parse_large(), because an I/O thread would be blocked
    /// by them. 0: none. Otherwise what follows them waits, too.
    [[nodiscard]] virtual std::size_t large() const noexcept { return 0; }
    /// Parses what waits, on any thread; nothing else may be called meanwhile. `budget` counts what
    /// that takes; it may be null.
    virtual void parse_large(memory_budget* budget) { (void)budget; }
    /// Delivers what was parsed. Returns it, to be freed where that may take long.
    [[nodiscard]] virtual std::shared_ptr<void> deliver_large() { return nullptr; }

    /// The body has ended: nothing is fed any more, but something may be large() again.
    virtual void end() {}

    /// The outcome, after end(). Called once, last.
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

    /// A decoder for the answer to one call. `sink` must outlive it.
    [[nodiscard]] virtual std::unique_ptr<answer_decoder>
    make_decoder(const model_parameters& asked, model_sink& sink) const = 0;
};

} // namespace agui::runner
