#include "runner/provider/media_part.hpp"

#include "runner/base/json_members.hpp"
#include "session/base/ascii.hpp"
#include "session/base/white_space.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace agui::runner {

namespace {

namespace json = boost::json;
using kind = media_part::kind;
using source = media_part::source;
using name_pair = std::pair<std::string_view, std::string_view>;

constexpr std::string_view unknown_type = "application/octet-stream";

/// IANA's registry of media types has the right ones only.
constexpr std::array<name_pair, 29> registered_names{{
    {"image/jpg", "image/jpeg"},          {"image/jpe", "image/jpeg"},
    {"image/jfif", "image/jpeg"},         {"image/pjpeg", "image/jpeg"},
    {"image/x-jpeg", "image/jpeg"},       {"image/x-jpg", "image/jpeg"},
    {"image/x-png", "image/png"},         {"image/x-gif", "image/gif"},
    {"image/x-webp", "image/webp"},       {"image/tif", "image/tiff"},
    {"image/x-tiff", "image/tiff"},       {"image/x-bmp", "image/bmp"},
    {"image/x-ms-bmp", "image/bmp"},      {"image/svg", "image/svg+xml"},
    {"audio/mp3", "audio/mpeg"},          {"audio/x-mp3", "audio/mpeg"},
    {"audio/mpeg3", "audio/mpeg"},        {"audio/x-mpeg-3", "audio/mpeg"},
    {"audio/x-mpeg", "audio/mpeg"},       {"audio/mpg", "audio/mpeg"},
    {"audio/x-wav", "audio/wav"},         {"audio/wave", "audio/wav"},
    {"audio/vnd.wave", "audio/wav"},      {"audio/x-pn-wav", "audio/wav"},
    {"audio/m4a", "audio/mp4"},           {"audio/x-m4a", "audio/mp4"},
    {"audio/x-flac", "audio/flac"},       {"application/x-pdf", "application/pdf"},
    {"text/x-markdown", "text/markdown"},
}};

kind kind_of(std::string_view type) noexcept {
    return type == "image"      ? kind::image
           : type == "audio"    ? kind::audio
           : type == "video"    ? kind::video
           : type == "document" ? kind::document
                                : kind::other;
}

/// Of a legacy `binary` part.
kind kind_of_media_type(std::string_view mime_type) noexcept {
    const kind what = kind_of(mime_type.substr(0, mime_type.find('/')));
    return what == kind::other ? kind::document : what;
}

struct data_url {
    std::string_view type; ///< With its parameters; may be empty.
    std::string_view base64;
};

/// nullopt: it is none (RFC 2397), or its data is not base64.
std::optional<data_url> read_data_url(std::string_view text) noexcept {
    constexpr std::string_view scheme = "data:";
    constexpr std::string_view encoding = ";base64";
    if (!equal_ignoring_case(text.substr(0, scheme.size()), scheme)) {
        return std::nullopt;
    }
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) {
        return std::nullopt;
    }
    std::string_view head = trimmed(text.substr(scheme.size(), comma - scheme.size()));
    if (head.size() < encoding.size() ||
        !equal_ignoring_case(head.substr(head.size() - encoding.size()), encoding)) {
        return std::nullopt;
    }
    head.remove_suffix(encoding.size());
    return data_url{head, trimmed(text.substr(comma + 1))};
}

void read_source(media_part& to, const json::object& from) {
    const std::string_view type = string_in(from, "type");
    to.from = type == "data"   ? source::data
              : type == "url"  ? source::url
              : type == "file" ? source::file
                               : source::none;
    to.value = string_in(from, "value");
    to.mime_type = media_type(string_in(from, "mimeType"));
    to.provider = string_in(from, "provider");
}

/// A legacy `binary` part holds the members itself.
void read_binary(media_part& to, const json::object& part) {
    to.mime_type = media_type(string_in(part, "mimeType"));
    to.filename = string_in(part, "filename");
    for (const auto& [name, from] :
         {std::pair{"data", source::data}, std::pair{"url", source::url},
          std::pair{"id", source::file}}) {
        if (const std::string_view value = string_in(part, name); !value.empty()) {
            to.from = from;
            to.value = value;
            return;
        }
    }
}

/// Chat pages store data URLs, and prefix them again.
void read_data_urls(media_part& part) {
    if (part.from != source::data && part.from != source::url) {
        return;
    }
    part.value = trimmed(part.value);
    while (const auto inner = read_data_url(part.value)) {
        part.from = source::data;
        part.value = inner->base64;
        if (std::string own = media_type(inner->type); !own.empty() && own != unknown_type) {
            part.mime_type = std::move(own);
        }
    }
    if (part.value.starts_with("data:")) {
        part.from = source::url; // Its data is not base64.
    }
}

} // namespace

media_part read_media_part(const json::object& part) {
    media_part read;
    if (const json::object* const from = object_in(part, "source")) {
        read_source(read, *from);
        if (const json::object* const metadata = object_in(part, "metadata")) {
            read.filename = string_in(*metadata, "filename");
        }
    } else {
        read_binary(read, part);
    }
    read_data_urls(read);
    if (read.value.empty()) {
        read.from = source::none;
    }
    const std::string_view type = string_in(part, "type");
    read.what = type == "binary" ? kind_of_media_type(read.mime_type) : kind_of(type);
    return read;
}

std::string media_type(std::string_view given) {
    std::string name = to_lower(trimmed(given.substr(0, given.find(';'))));
    const auto known = std::ranges::find(registered_names, name, &name_pair::first);
    return known == registered_names.end() ? name : std::string(known->second);
}

} // namespace agui::runner
