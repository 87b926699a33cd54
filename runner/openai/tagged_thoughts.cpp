#include "runner/openai/tagged_thoughts.hpp"

#include "runner/base/json_blanks.hpp"

#include <algorithm>

namespace agui::runner {

namespace {

constexpr std::size_t name_bytes_max = 32;

// Blanks that are held to learn whether a tag follows them. A model writes one or two.
constexpr std::size_t blanks_max = 256;

bool is_name_character(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-:.|").find(c) != std::string_view::npos;
}

/// Start of the end of `text` that may begin `tag`.
std::size_t begin_of_tag(std::string_view text, std::string_view tag) noexcept {
    std::size_t at = text.size() - std::min(text.size(), tag.size() - 1);
    while (!tag.starts_with(text.substr(at))) {
        ++at;
    }
    return at;
}

} // namespace

bool is_reasoning_tag(std::string_view tag) noexcept {
    const bool angled = tag.starts_with('<') && tag.ends_with('>');
    const bool square = tag.starts_with('[') && tag.ends_with(']');
    if (tag.size() < 3 || !(angled || square)) {
        return false;
    }
    std::string_view name = tag.substr(1, tag.size() - 2);
    if (name.starts_with('/')) {
        name.remove_prefix(1);
    }
    return !name.empty() && name.size() <= name_bytes_max &&
           std::ranges::all_of(name, is_name_character);
}

std::string opening_tag(std::string_view tag) {
    std::string opening(tag);
    if (opening.size() > 1 && opening[1] == '/') {
        opening.erase(1, 1);
    }
    return opening;
}

std::string closing_tag(std::string_view opening) {
    std::string closing(opening);
    closing.insert(std::min<std::size_t>(1, closing.size()), "/");
    return closing;
}

tagged_thoughts::tagged_thoughts(std::string_view tag)
    : opening_(opening_tag(tag)),
      closing_(closing_tag(opening_)),
      needs_opening_(tag == opening_),
      now_(tag.empty() ? stage::text : stage::start) {}

void tagged_thoughts::feed(std::string_view piece, std::string& thoughts, std::string& text) {
    held_.append(piece);
    if (now_ == stage::start && !begin()) {
        return;
    }
    if (now_ == stage::thoughts && !think(thoughts)) {
        return;
    }
    if (now_ == stage::after) {
        held_.erase(0, held_.size() - without_blank_begin(held_).size());
        if (held_.empty()) {
            return;
        }
    }
    begin_text(text);
}

/// Decides how the answer begins. Returns false if that depends on later text.
bool tagged_thoughts::begin() {
    const std::string_view begun = without_blank_begin(held_);
    const bool too_long = held_.size() - begun.size() > blanks_max;
    if (begun.starts_with(opening_)) {
        held_.erase(0, held_.size() - begun.size() + opening_.size());
        now_ = stage::thoughts;
    } else if (std::string_view(opening_).starts_with(begun) && !too_long) {
        return false;
    } else {
        now_ = needs_opening_ ? stage::text : stage::thoughts;
    }
    return true;
}

/// Passes thoughts on. Returns false if their end has not come.
bool tagged_thoughts::think(std::string& thoughts) {
    const std::size_t end = held_.find(closing_);
    const bool ends = end != std::string::npos;
    const std::size_t known = ends ? end : begin_of_tag(held_, closing_);
    std::string_view part = std::string_view(held_).substr(0, known);
    // Blanks before the closing tag are dropped, so they are held until it comes.
    const std::string_view words = without_blank_end(part);
    part = part.size() - words.size() > blanks_max && !ends ? part : words;
    thoughts.append(thought_ ? part : without_blank_begin(part));
    thought_ = thought_ || !without_blank_begin(part).empty();
    if (ends) {
        held_.erase(0, end + closing_.size());
        now_ = stage::after;
    } else {
        held_.erase(0, part.size());
    }
    return ends;
}

void tagged_thoughts::begin_text(std::string& text) {
    text.append(held_);
    held_.clear();
    now_ = stage::text;
}

void tagged_thoughts::interrupt(std::string& text) {
    if (now_ == stage::start && needs_opening_) {
        begin_text(text);
    }
}

void tagged_thoughts::finish(std::string& thoughts, std::string& text) {
    interrupt(text);
    if (now_ == stage::start || now_ == stage::thoughts) {
        thoughts.append(
            without_blank_end(thought_ ? std::string_view(held_) : without_blank_begin(held_))
        );
    }
    held_.clear();
    now_ = stage::text;
}

} // namespace agui::runner
