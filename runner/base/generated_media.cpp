#include "runner/base/generated_media.hpp"

#include "session/conversation/media_part.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace agui::runner {

namespace {

using namespace std::string_view_literals;

struct known_media {
    generated_media::kind what;
    std::string_view type;
    std::string_view begin;
    std::string_view later = {}; ///< Stands at `place`.
    std::size_t place = 0;
};

constexpr auto image = generated_media::kind::image;
constexpr auto audio = generated_media::kind::audio;

// The first bytes as the formats' own specifications have them; RIFF and ISO files name their
// content behind a length.
constexpr std::array known_formats = {
    known_media{image, "image/png", "\x89PNG\r\n\x1a\n"sv},
    known_media{image, "image/jpeg", "\xff\xd8\xff"sv},
    known_media{image, "image/gif", "GIF87a"sv},
    known_media{image, "image/gif", "GIF89a"sv},
    known_media{image, "image/webp", "RIFF"sv, "WEBP"sv, 8},
    known_media{image, "image/avif", ""sv, "ftypavif"sv, 4},
    known_media{audio, "audio/wav", "RIFF"sv, "WAVE"sv, 8},
    known_media{audio, "audio/mpeg", "ID3"sv},
    known_media{audio, "audio/flac", "fLaC"sv},
    known_media{audio, "audio/ogg", "OggS"sv},
    known_media{audio, "audio/mp4", ""sv, "ftypM4A "sv, 4},
    known_media{audio, "audio/aac", "\xff\xf1"sv},
    known_media{audio, "audio/aac", "\xff\xf9"sv},
};

/// True for the header of an MP3 frame. All of it counts: raw samples may begin like its first two
/// bytes.
bool is_mp3_frame(std::string_view bytes) noexcept {
    if (bytes.size() < 4) {
        return false;
    }
    const auto at = [&](std::size_t place) {
        return static_cast<unsigned>(static_cast<unsigned char>(bytes[place]));
    };
    const unsigned version = (at(1) >> 3U) & 3U;
    const unsigned layer = (at(1) >> 1U) & 3U;
    const unsigned bit_rate = at(2) >> 4U;
    const unsigned sample_rate = (at(2) >> 2U) & 3U;
    return at(0) == 0xFFU && (at(1) & 0xE0U) == 0xE0U && version != 1 && layer == 1 &&
           bit_rate != 0 && bit_rate != 15 && sample_rate != 3;
}

} // namespace

std::string_view media_type_of_bytes(generated_media::kind what, std::string_view bytes) noexcept {
    const auto found = std::ranges::find_if(known_formats, [&](const known_media& each) {
        return each.what == what && bytes.starts_with(each.begin) &&
               bytes.substr(std::min(each.place, bytes.size())).starts_with(each.later);
    });
    if (found != known_formats.end()) {
        return found->type;
    }
    return what == audio && is_mp3_frame(bytes) ? "audio/mpeg"sv : std::string_view();
}

void base64_pieces::add(std::string_view piece) {
    any_ = any_ || !piece.empty();
    if (!problem_.empty()) {
        return;
    }
    rest_.append(piece);
    const std::size_t whole = rest_.size() - rest_.size() % 4;
    decode(std::string_view(rest_).substr(0, whole));
    rest_.erase(0, whole);
}

void base64_pieces::decode(std::string_view text) {
    if (text.empty() || !problem_.empty()) {
        return;
    }
    if (text.size() / 4 * 3 > generated_media_bytes_max - bytes_.size()) {
        give_up("is too large");
    } else if (const std::optional<std::string> more = session::decode_base64(text)) {
        bytes_.append(*more);
    } else {
        give_up("is not base64");
    }
}

void base64_pieces::give_up(std::string_view problem) {
    problem_ = problem;
    std::string().swap(bytes_);
    std::string().swap(rest_);
}

std::size_t base64_pieces::bytes_with(std::size_t piece) const noexcept {
    return bytes_.size() + (rest_.size() + piece) / 4 * 3;
}

std::string base64_pieces::take() {
    decode(std::exchange(rest_, {}));
    if (problem_.empty() && bytes_.empty()) {
        problem_ = "is empty";
    }
    return std::exchange(bytes_, {});
}

void pass_media(model_sink& sink, generated_media::kind what, std::string_view base64) {
    base64_pieces whole;
    whole.add(base64);
    const std::string bytes = whole.take();
    sink.on_media({.what = what, .bytes = bytes, .transcript = {}, .problem = whole.problem()});
}

} // namespace agui::runner
