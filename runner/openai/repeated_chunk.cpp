#include "runner/openai/repeated_chunk.hpp"

#include "runner/base/json_blanks.hpp"
#include "runner/base/json_text.hpp"
#include "runner/base/utf8.hpp"

#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace agui::runner {

namespace {

// Longer chunks repeat little. Limits what a thread keeps of the chunks of untrusted servers.
constexpr std::size_t shape_bytes_max = 2048;
// Shapes that the streams of a thread share: a model has one or two.
constexpr std::size_t shapes_max = 16;
// A stream that has learned so many chunks sends no two that are alike, for example because each
// has probabilities.
constexpr std::uint8_t learned_max = 16;

constexpr std::string_view id_key = "\"id\"";
constexpr std::string_view created_key = "\"created\"";
constexpr std::string_view text_key = "\"content\"";
constexpr std::string_view random_key = "\"obfuscation\"";

bool is_digit(char byte) noexcept { return byte >= '0' && byte <= '9'; }

// True if the text stands for itself between the quotes of a JSON string.
bool is_plain(std::string_view text) noexcept {
    const bool has_special = std::ranges::any_of(text, [](unsigned char byte) {
        return byte < 0x20 || byte == '"' || byte == '\\';
    });
    return !has_special && is_utf8(text);
}

// Position of the id's key if it is the chunk's first member; npos otherwise.
std::size_t find_id(std::string_view chunk) noexcept {
    std::string_view rest = without_blank_begin(chunk);
    if (!rest.starts_with('{')) {
        return std::string_view::npos;
    }
    rest = without_blank_begin(rest.substr(1));
    return rest.starts_with(id_key) ? chunk.size() - rest.size() : std::string_view::npos;
}

// Position of the key of the chunk's own time, before any inner object or list; npos otherwise.
std::size_t find_created(std::string_view chunk) noexcept {
    const std::size_t at = chunk.find(created_key);
    const std::size_t inner = chunk.find_first_of("{[", chunk.find('{') + 1);
    return at < inner ? at : std::string_view::npos;
}

} // namespace

/// A chunk without the values that may differ between the chunks that repeat it.
class repeated_chunk::shape {
public:
    /// Nullopt if the text cannot be found for certain.
    [[nodiscard]] static std::optional<shape> of(std::string_view chunk);
    /// See repeated_chunk::text_in().
    [[nodiscard]] std::string_view text_in(std::string_view chunk) const noexcept;
    bool operator==(const shape&) const = default;

private:
    enum class kind : std::uint8_t { text, other_text, digits };
    /// A value that was left out.
    struct gap {
        std::uint16_t at = 0; ///< Its place in bytes_.
        kind what = kind::text;
        bool operator==(const gap&) const = default;
    };

    [[nodiscard]] static std::optional<std::string_view>
    take_value(std::string_view& rest, kind what) noexcept;

    std::string bytes_; ///< The other bytes.
    boost::container::static_vector<gap, 4> gaps_;
};

std::optional<repeated_chunk::shape> repeated_chunk::shape::of(std::string_view chunk) {
    // Without escapes, every quote begins or ends a string, and every key is written as it is.
    const std::size_t text = chunk.find(text_key);
    if (chunk.size() > shape_bytes_max || chunk.find('\\') != std::string_view::npos ||
        text == std::string_view::npos ||
        chunk.find(text_key, text + 1) != std::string_view::npos) {
        return std::nullopt;
    }
    shape made;
    std::size_t read = 0;
    const auto leave_out = [&](std::size_t at, std::string_view key, kind what) {
        if (at == std::string_view::npos) {
            return false;
        }
        std::string_view rest = without_blank_begin(chunk.substr(at + key.size()));
        if (!rest.starts_with(':')) {
            return false;
        }
        rest = without_blank_begin(rest.substr(1));
        const std::size_t begin = chunk.size() - rest.size();
        if (!take_value(rest, what)) {
            return false;
        }
        made.bytes_.append(chunk.substr(read, begin - read));
        made.gaps_.push_back({static_cast<std::uint16_t>(made.bytes_.size()), what});
        read = chunk.size() - rest.size();
        return true;
    };
    leave_out(find_id(chunk), id_key, kind::other_text);
    leave_out(find_created(chunk.substr(0, text)), created_key, kind::digits);
    if (!leave_out(text, text_key, kind::text)) {
        return std::nullopt;
    }
    leave_out(chunk.find(random_key, read), random_key, kind::other_text);
    made.bytes_.append(chunk.substr(read));
    return made;
}

std::string_view repeated_chunk::shape::text_in(std::string_view chunk) const noexcept {
    const std::string_view bytes(bytes_);
    std::string_view rest = chunk;
    std::string_view text;
    std::size_t at = 0;
    for (const gap& each : gaps_) {
        const std::string_view expected = bytes.substr(at, each.at - at);
        if (!rest.starts_with(expected)) {
            return {};
        }
        rest.remove_prefix(expected.size());
        at = each.at;
        const std::optional<std::string_view> value = take_value(rest, each.what);
        if (!value) {
            return {};
        }
        if (each.what == kind::text) {
            text = *value;
        }
    }
    return rest == bytes.substr(at) ? text : std::string_view();
}

// Takes a value that JSON allows in this place, whatever follows; nullopt if there is none.
std::optional<std::string_view>
repeated_chunk::shape::take_value(std::string_view& rest, kind what) noexcept {
    const std::string_view from = rest;
    if (what == kind::digits) {
        while (!rest.empty() && is_digit(rest.front())) {
            rest.remove_prefix(1);
        }
        const std::string_view digits = from.substr(0, from.size() - rest.size());
        return digits.empty() || digits.front() == '0' ? std::nullopt : std::optional(digits);
    }
    if (!rest.starts_with('"')) {
        return std::nullopt;
    }
    rest.remove_prefix(1);
    std::size_t end = plain_bytes(rest);
    if (end == rest.size() || rest[end] != '"') { // Rare: most texts are ASCII.
        const std::size_t ascii = end;
        end = rest.find('"', ascii);
        if (end == std::string_view::npos || !is_plain(rest.substr(ascii, end - ascii))) {
            return std::nullopt;
        }
    }
    rest.remove_prefix(end + 1);
    return from.substr(1, end);
}

void repeated_chunk::learn(std::string_view chunk) {
    static thread_local struct {
        std::array<std::shared_ptr<const shape>, shapes_max> shapes;
        std::size_t next = 0;
    } shared;
    if (learned_ == learned_max) {
        return;
    }
    std::optional<shape> learned = shape::of(chunk);
    if (!learned) {
        return;
    }
    ++learned_;
    const auto same = std::ranges::find_if(shared.shapes, [&learned](const auto& each) {
        return each && *each == *learned;
    });
    if (same != shared.shapes.end()) {
        shape_ = *same;
        return;
    }
    shape_ = std::make_shared<const shape>(*std::move(learned));
    shared.shapes.at(std::exchange(shared.next, (shared.next + 1) % shapes_max)) = shape_;
}

std::string_view repeated_chunk::text_in(std::string_view chunk) const noexcept {
    return shape_ ? shape_->text_in(chunk) : std::string_view();
}

} // namespace agui::runner
