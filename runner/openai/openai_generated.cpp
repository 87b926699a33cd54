#include "runner/openai/openai_generated.hpp"

#include "runner/base/json_members.hpp"
#include "runner/base/utf8.hpp"

#include <boost/json/array.hpp>

#include <cstddef>
#include <cstdint>

namespace agui::runner {

namespace {

namespace json = boost::json;

// The data URLs of an image name their type first; media_type_of_bytes() tells it from the bytes.
constexpr std::string_view data_scheme = "data:";
constexpr std::string_view data_begin = ";base64,";

// More words are only in the text of the answer.
constexpr std::size_t words_bytes_max = 65'536;

void append_little_endian(std::string& out, std::uint32_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) {
        out.push_back(static_cast<char>((value >> (8 * i)) & 0xFFU));
    }
}

/// Raw samples as a WAV file, which browsers play. OpenAI streams audio only as `pcm16`: 24 kHz,
/// one channel, 16 bits, the lower byte first (platform.openai.com/docs, Audio).
std::string wav_of_samples(std::string_view samples) {
    constexpr std::uint32_t rate = 24'000;
    constexpr std::uint32_t bytes_of_sample = 2;
    constexpr std::uint32_t rest_of_header = 36;
    const auto size = static_cast<std::uint32_t>(samples.size());
    std::string out = "RIFF";
    append_little_endian(out, rest_of_header + size, 4);
    out.append("WAVEfmt ");
    append_little_endian(out, 16, 4); // Size of this chunk.
    append_little_endian(out, 1, 2);  // PCM.
    append_little_endian(out, 1, 2);  // One channel.
    append_little_endian(out, rate, 4);
    append_little_endian(out, rate * bytes_of_sample, 4);
    append_little_endian(out, bytes_of_sample, 2);
    append_little_endian(out, 8 * bytes_of_sample, 2);
    out.append("data");
    append_little_endian(out, size, 4);
    return out.append(samples);
}

} // namespace

std::string_view
openai_generated::read(const json::value* audio, const json::value* images, bool whole_message) {
    if (const json::array* const list = array_of(images);
        list != nullptr && !(whole_message && has_images_)) {
        for (const json::value& each : *list) {
            if (each.is_object()) {
                image(each.get_object());
            }
        }
    }
    const json::object* const part = object_of(audio);
    if (part == nullptr || (whole_message && sound_.any())) {
        return {};
    }
    add_sound(string_in(*part, "data"));
    const std::string_view said = string_in(*part, "transcript");
    if (said.size() <= words_bytes_max - words_.size()) {
        words_.append(said);
    }
    return said;
}

void openai_generated::add_sound(std::string_view piece) {
    if (!piece.empty() && sound_.problem().empty()) {
        if (const std::string_view wrong = sink_.on_media_bytes(sound_.bytes_with(piece.size()));
            !wrong.empty()) {
            sound_.give_up(wrong);
        }
    }
    sound_.add(piece);
}

void openai_generated::image(const json::object& part) {
    const json::object* const link = object_in(part, "image_url");
    const std::string_view url =
        link != nullptr ? string_in(*link, "url") : string_in(part, "image_url");
    if (url.empty()) {
        return;
    }
    has_images_ = true;
    const std::size_t data = url.find(data_begin);
    if (url.starts_with(data_scheme) && data != std::string_view::npos) {
        pass_media(sink_, generated_media::kind::image, url.substr(data + data_begin.size()));
        return;
    }
    sink_.on_media(
        {.what = generated_media::kind::image,
         .bytes = {},
         .transcript = {},
         .problem = "is a link, which is not fetched"}
    );
}

void openai_generated::finish() {
    if (!sound_.any()) {
        return;
    }
    std::string bytes = sound_.take();
    constexpr auto audio = generated_media::kind::audio;
    if (!bytes.empty() && media_type_of_bytes(audio, bytes).empty()) {
        bytes = wav_of_samples(bytes);
    }
    const std::string words = to_utf8(words_);
    sink_.on_media({.what = audio, .bytes = bytes, .transcript = words, .problem = sound_.problem()}
    );
}

} // namespace agui::runner
