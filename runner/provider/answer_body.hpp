#pragma once

#include "runner/base/json_brackets.hpp"
#include "runner/http/sse_parser.hpp"

#include <string>
#include <string_view>

namespace agui::runner {

/// Splits the body of an answer, in bytes cut anywhere, into its parts. These are server-sent
/// events, whose empty lines may be missing, or consecutive JSON objects (newline-delimited JSON,
/// or the one answer of a server that does not stream). The first byte decides; blanks and a byte
/// order mark may precede it.
class answer_body final : private sse_parser::handler {
public:
    /// Receives the parts in order; views are valid during the call. An object has no name.
    class reader {
    public:
        virtual ~reader() = default;
        virtual void on_event(std::string_view name, std::string_view data) = 0;
    };

    /// `to` must outlive this object.
    explicit answer_body(reader& to) : to_(to), events_(*this) {}

    /// Returns the mistake of the body, a literal; empty if there is none.
    [[nodiscard]] std::string_view feed(std::string_view bytes);

    /// Ends the body and delivers an event that lacks its empty line.
    void finish();

    /// Memory of an incomplete part, with its copies.
    [[nodiscard]] std::size_t kept() const noexcept {
        return partial_.capacity() + 2 * events_.kept();
    }

    /// True if the body consists of JSON objects.
    [[nodiscard]] bool has_objects() const noexcept { return form_ == form::objects; }
    /// True if the last object is incomplete.
    [[nodiscard]] bool is_cut() const noexcept { return has_objects() && !partial_.empty(); }
    /// True if `[DONE]` came between or after objects.
    [[nodiscard]] bool has_end_mark() const noexcept { return has_end_mark_; }

private:
    enum class form { unknown, events, objects };

    void on_sse(std::string_view event, std::string_view data) override {
        data_ = {};
        to_.on_event(event, data);
    }
    [[nodiscard]] bool ends_event(std::string_view more) override;
    [[nodiscard]] bool choose_form(std::string_view& bytes);
    [[nodiscard]] std::string_view feed_objects(std::string_view bytes);
    void pass_over(std::string_view bytes);

    reader& to_;
    sse_parser events_;
    object_text data_; ///< Data of the current event, as far as the parser asked about it.
    form form_ = form::unknown;
    std::string partial_; ///< Start of an object, or of a body of still unknown form.
    std::string between_; ///< The last skipped bytes, fewer than the end mark has.
    bool has_end_mark_ = false;
    json_brackets brackets_;
};

} // namespace agui::runner
