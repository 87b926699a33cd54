#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agui::runner {

/// True for a valid value of the setting `reasoning_tags`: `<NAME>` or `[NAME]`, or with a slash
/// before the name if the answers have no opening tag.
[[nodiscard]] bool is_reasoning_tag(std::string_view tag) noexcept;

/// The opening tag of that value, with which thoughts are sent back.
[[nodiscard]] std::string opening_tag(std::string_view tag);
/// The closing tag of an opening tag.
[[nodiscard]] std::string closing_tag(std::string_view opening);

/// Separates the thoughts that a model writes into its text, `<think> … </think> answer`, from its
/// answer. The text arrives in pieces. Only a tag at the start of the answer counts, so that a
/// model can write about tags. Blanks before the opening tag and around the thoughts are dropped.
/// For servers whose chat template puts the opening tag into the prompt, the setting is the closing
/// tag, `</think>`: the answer then begins with thoughts, and an opening tag is optional.
class tagged_thoughts {
public:
    /// `tag` is a value of the setting; if empty, everything is text.
    explicit tagged_thoughts(std::string_view tag);

    /// True if everything that follows is text, so that feed() need not be called.
    [[nodiscard]] bool done() const noexcept { return now_ == stage::text; }
    /// The opening tag. Lives as long as this object.
    [[nodiscard]] const std::string& opening() const noexcept { return opening_; }

    /// Appends the decided parts. Thoughts of one call come before its text.
    void feed(std::string_view piece, std::string& thoughts, std::string& text);

    /// Interrupts the text by something else. If no tag came so far, the answer has none.
    void interrupt(std::string& text);

    /// Ends the text and appends the held-back part.
    void finish(std::string& thoughts, std::string& text);

private:
    enum class stage { start, thoughts, after, text };

    [[nodiscard]] bool begin();
    [[nodiscard]] bool think(std::string& thoughts);
    void begin_text(std::string& text);

    std::string opening_;
    std::string closing_;
    bool needs_opening_ = true;
    stage now_ = stage::text;
    bool thought_ = false; ///< A thought was passed on.
    std::string held_;
};

} // namespace agui::runner
