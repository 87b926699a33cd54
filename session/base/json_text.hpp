#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace agui {

/// An immutable JSON document as text, shared by its copies: a copy costs one reference count,
/// whatever the size. Use it for documents that are stored and sent on but never inspected.
class json_text {
public:
    /// null
    json_text() noexcept = default;
    /// `text` must be one JSON value without insignificant white space. It is not checked.
    explicit json_text(std::string text)
        : text_(text == null ? nullptr : std::make_shared<const std::string>(std::move(text))) {}

    [[nodiscard]] std::string_view view() const noexcept {
        return text_ ? std::string_view(*text_) : null;
    }
    [[nodiscard]] bool is_null() const noexcept { return !text_; }
    [[nodiscard]] bool is_empty_object() const noexcept { return view() == "{}"; }

    /// True if the texts are equal: documents that differ only in the order of members are not.
    friend bool operator==(const json_text& left, const json_text& right) noexcept {
        return left.text_ == right.text_ || left.view() == right.view();
    }

private:
    static constexpr std::string_view null = "null";

    std::shared_ptr<const std::string> text_; ///< Null for the document `null`.
};

} // namespace agui
