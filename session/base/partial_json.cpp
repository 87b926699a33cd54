#include "session/base/partial_json.hpp"

#include "session/base/parse_json.hpp"

#include <algorithm>

namespace agui {

namespace {

/// Scans a text up to its end, and knows how it can be completed there.
class partial_scan {
public:
    explicit partial_scan(std::string_view text) : text_(text) {
        while (at_ < text_.size()) {
            step(text_[at_]);
        }
    }

    [[nodiscard]] std::string complete() const {
        std::string out;
        if (open_string_ && !is_key_) {
            out = text_.substr(0, without_open_escape());
            out.push_back('"');
        } else {
            out = text_.substr(0, safe_end_);
        }
        std::for_each(closers_.rbegin(), closers_.rend(), [&out](char c) { out.push_back(c); });
        return out;
    }

private:
    void step(char c) {
        if (open_string_) {
            in_string(c);
            return;
        }
        ++at_;
        switch (c) {
        case '{':
        case '[':
            closers_.push_back(c == '{' ? '}' : ']');
            is_key_ = c == '{';
            safe_end_ = at_;
            return;
        case '}':
        case ']':
            if (!closers_.empty()) {
                closers_.pop_back();
            }
            is_key_ = false;
            safe_end_ = at_;
            return;
        case '"':
            open_string_ = true;
            return;
        case ',':
            // What stands before it is complete, also a number.
            safe_end_ = std::max(safe_end_, at_ - 1);
            is_key_ = !closers_.empty() && closers_.back() == '}';
            return;
        case ':':
            is_key_ = false;
            return;
        default:
            return; // White space, a number or a word.
        }
    }

    void in_string(char c) {
        if (c == '\\') {
            escape_ = at_;
            at_ += at_ + 1 < text_.size() && text_[at_ + 1] == 'u' ? 6 : 2;
            return;
        }
        ++at_;
        if (c == '"') {
            open_string_ = false;
            if (!is_key_) {
                safe_end_ = at_;
            }
        }
    }

    /// The end of an open string before an escape that is not complete.
    [[nodiscard]] std::size_t without_open_escape() const {
        return at_ > text_.size() ? escape_ : text_.size();
    }

    const std::string_view text_;
    std::size_t at_ = 0;
    std::size_t safe_end_ = 0; ///< The text up to here is complete but for brackets.
    std::size_t escape_ = 0;   ///< Where the last escape begins.
    bool open_string_ = false;
    bool is_key_ = false; ///< The next string, or the open one, is the name of a member.
    std::string closers_;
};

} // namespace

std::string complete_json(std::string_view beginning) { return partial_scan(beginning).complete(); }

std::optional<boost::json::value> parse_partial(std::string_view beginning, std::size_t max_depth) {
    auto value = parse_json(complete_json(beginning), {.max_depth = max_depth});
    if (!value || value->is_primitive()) {
        return std::nullopt;
    }
    return std::move(*value);
}

} // namespace agui
