#pragma once

#include "runner/provider/answer_body.hpp"
#include "runner/provider/large_chunks.hpp"
#include "runner/provider/model_dialect.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::runner {

/// The frame of a decoder whose answers are JSON objects, in events or one after the other. A
/// dialect implements read(), which gets each of them; the frame has the rest: the body, large
/// parts, failures and the outcome.
class stream_decoder : public answer_decoder, protected answer_body::reader {
public:
    stream_decoder(const stream_decoder&) = delete;
    stream_decoder& operator=(const stream_decoder&) = delete;

    /// Returns true while more is expected, and false once the end mark or an error came (further
    /// bytes are ignored).
    bool feed(std::string_view bytes) final;
    /// True once the reason of the end came.
    [[nodiscard]] bool ending() const noexcept final { return reason_.has_value() || over(); }
    [[nodiscard]] bool failed() const noexcept final { return failure_ != nullptr; }
    [[nodiscard]] bool whole() const noexcept final { return body_.has_objects(); }
    /// Number of parts of the dialect so far, without comments and signs of life.
    [[nodiscard]] std::size_t chunks() const noexcept final { return chunks_; }
    [[nodiscard]] std::size_t kept() const noexcept final {
        return body_.kept() + waiting_.bytes();
    }
    [[nodiscard]] std::size_t large() const noexcept final { return waiting_.bytes(); }
    void parse_large(memory_budget* budget) final { waiting_.parse(budget); }
    [[nodiscard]] std::shared_ptr<void> deliver_large() final;
    void end() final;
    /// Calls end() and reads remaining large parts unless that was done.
    [[nodiscard]] model_outcome finish() final;

protected:
    /// How the dialect is spoken of in failures, and what its end looks like.
    struct words {
        std::string_view part;       ///< "a chunk", "an event".
        std::string_view end;        ///< What a complete answer has: "a finish_reason".
        bool ends_with_done = false; ///< `[DONE]` ends the answer; otherwise it is skipped.
    };

    /// `dialect` must outlive this object. `model` and `provider` are the names in usage.
    stream_decoder(const words& dialect, std::string model, std::string provider)
        : model_(std::move(model)), provider_(std::move(provider)), words_(dialect), body_(*this) {}

    /// Parses the part and reads it.
    void on_event(std::string_view name, std::string_view data) override;
    /// Reads one part, whose strings may be cut in the middle of a character (`torn`). `name` is
    /// the event's name, empty if the part was large.
    virtual void read(std::string_view name, const boost::json::object& part, bool torn) = 0;
    /// Takes the steps that need the end of the body. Not called after a failure.
    virtual void settle() = 0;
    /// The counts of the answer. Called once.
    [[nodiscard]] virtual std::optional<token_usage> take_usage() = 0;

    /// The JSON text of an event; empty if it has none, or if the answer is over. Notes end marks,
    /// errors without JSON and other text.
    [[nodiscard]] std::string_view text_of_event(std::string_view name, std::string_view data);
    /// True if the text must wait until it is parsed on another thread, and is kept for that.
    [[nodiscard]] bool holds(std::string_view text) {
        return waiting_.must_hold(text) && hold(text);
    }
    /// The object of a parsed text. If there is none, returns null, which is a failure unless the
    /// text was cut with the body.
    [[nodiscard]] const boost::json::object* object_in_part(const boost::json::value* parsed);
    void fail(std::string detail, std::string upstream = {});
    /// Fails with an error that came in place of the rest of the answer. It is a refusal if its
    /// status is one and the answer has not `begun`.
    void fail_in_stream(std::string upstream, int status, bool begun);
    /// Some servers say that the answer ended with calls although it has none, or the reverse.
    void fit_reason_to_calls(std::size_t calls) noexcept;
    [[nodiscard]] bool over() const noexcept { return failure_ || stopped_ || done_; }
    /// True if the first object is incomplete: it may be the whole answer.
    [[nodiscard]] bool may_be_whole() const noexcept { return body_.is_cut() && chunks_ == 0; }
    /// The form of the body, and whether it is cut.
    [[nodiscard]] const answer_body& body() const noexcept { return body_; }

    // What each token uses comes first, in one cache line.
    std::size_t chunks_ = 0;
    bool answered_ = false; ///< Some part of the dialect came.
    bool stopped_ = false;  ///< A part ended the answer.
    bool done_ = false;     ///< `[DONE]` ended it; large parts from before may still be read.
    bool has_lost_data_ = false;
    std::unique_ptr<model_failure> failure_; ///< Allocated separately: a stream seldom has one.
    std::optional<finish_reason> reason_;
    std::string model_;
    std::string provider_;
    std::string unknown_reason_;
    std::size_t invalid_blocks_ = 0; ///< See model_answer.
    std::string invalid_block_;

    /// Kept length of a text that is not of the dialect: enough to recognize it.
    static constexpr std::size_t noise_bytes_max = 200;

private:
    bool hold(std::string_view text);

    const words& words_;
    answer_body body_;
    large_chunks waiting_;
    std::string noise_;  ///< The first text that is neither JSON nor an end mark.
    bool ended_ = false; ///< The body has ended. An event that comes later lacked its empty line.
};

} // namespace agui::runner
