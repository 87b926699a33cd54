#include "session/conversation/media_part.hpp"

#include "session/base/ascii.hpp"
#include "session/base/json_member.hpp"
#include "session/base/white_space.hpp"
#include "session/base/work_count.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace agui::session {

namespace {

namespace json = boost::json;

constexpr std::size_t sha256_bytes = 32;

using kind = media_part::kind;
using source = media_part::source;
using name_pair = std::pair<std::string_view, std::string_view>;

constexpr std::string_view unknown_type = "application/octet-stream";

/// IANA's registry of media types lists only the registered names.
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

const json::object* object_in(const json::object& object, std::string_view name) noexcept {
    const json::value* const member = object.if_contains(name);
    return member != nullptr ? member->if_object() : nullptr;
}

kind kind_of(std::string_view type) noexcept {
    return type == "image"      ? kind::image
           : type == "audio"    ? kind::audio
           : type == "video"    ? kind::video
           : type == "document" ? kind::document
                                : kind::other;
}

struct data_url {
    std::string_view type; ///< Includes its parameters; may be empty.
    std::string_view base64;
};

/// Returns nullopt if it is not a data URL (RFC 2397), or if its data is not base64.
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

/// The value of a base64 digit; -1 if the character is none.
int digit_of(char c) noexcept {
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    if (c == '+' || c == '-') {
        return 62;
    }
    return c == '/' || c == '_' ? 63 : -1;
}

bool is_space(char c) noexcept { return c == '\r' || c == '\n' || c == ' ' || c == '\t'; }

/// Passes the decoded bytes to `take`, some at a time. Returns false if the text is not base64.
template <class Take>
bool decode_to(std::string_view text, Take take) {
    std::array<char, 3072> decoded{};
    std::size_t size = 0;
    std::uint32_t bits = 0;
    unsigned digits = 0; // Digits of the current group of four.
    bool padded = false;
    for (const char c : text) {
        if (is_space(c)) {
            continue;
        }
        if (c == '=') {
            padded = true;
            continue;
        }
        const int digit = digit_of(c);
        if (digit < 0 || padded) {
            return false;
        }
        bits = (bits << 6U) | static_cast<std::uint32_t>(digit);
        if (++digits < 4) {
            continue;
        }
        decoded[size++] = static_cast<char>((bits >> 16U) & 0xFFU);
        decoded[size++] = static_cast<char>((bits >> 8U) & 0xFFU);
        decoded[size++] = static_cast<char>(bits & 0xFFU);
        digits = 0;
        if (size == decoded.size()) {
            take(std::string_view(decoded.data(), size));
            size = 0;
        }
    }
    if (digits == 1) {
        return false; // Six bits are no byte.
    }
    if (digits == 2) {
        decoded[size++] = static_cast<char>((bits >> 4U) & 0xFFU);
    } else if (digits == 3) {
        decoded[size++] = static_cast<char>((bits >> 10U) & 0xFFU);
        decoded[size++] = static_cast<char>((bits >> 2U) & 0xFFU);
    }
    take(std::string_view(decoded.data(), size));
    return true;
}

class sha256_hash {
public:
    sha256_hash() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
        if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) {
            throw std::bad_alloc();
        }
    }

    void add(std::string_view bytes) {
        (void)EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
        size_ += bytes.size();
    }

    [[nodiscard]] part_digest end() {
        std::array<unsigned char, sha256_bytes> digest{};
        (void)EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr);
        constexpr std::string_view hex = "0123456789abcdef";
        part_digest out{.sha256 = {}, .bytes = size_};
        out.sha256.reserve(2 * digest.size());
        for (const unsigned char byte : digest) {
            out.sha256.push_back(hex[byte >> 4U]);
            out.sha256.push_back(hex[byte & 0x0FU]);
        }
        return out;
    }

private:
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
    std::size_t size_ = 0;
};

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
    read.what = kind_of(type == "binary" ? part_type_of(read.mime_type) : type);
    return read;
}

std::string media_type(std::string_view given) {
    std::string name = to_lower(trimmed(given.substr(0, given.find(';'))));
    const auto known = std::ranges::find(registered_names, name, &name_pair::first);
    return known == registered_names.end() ? name : std::string(known->second);
}

std::optional<data_part> data_part_of(const json::value& part) {
    const json::object* const object = part.if_object();
    const json::object* const from = object != nullptr ? object_in(*object, "source") : nullptr;
    if (from == nullptr) {
        return std::nullopt;
    }
    media_part read = read_media_part(*object);
    // A data URL that is not base64 may be megabytes as well.
    const bool given_as_data = string_in(*from, "type") == "data" && !read.value.empty();
    if (read.from != source::data && !given_as_data) {
        return std::nullopt;
    }
    return data_part{.value = read.value, .mime_type = std::move(read.mime_type)};
}

std::string_view text_of_part(const json::value& part) noexcept {
    const json::object* const object = part.if_object();
    return object != nullptr && string_in(*object, "type") == "text" ? string_in(*object, "text")
                                                                     : std::string_view();
}

std::optional<std::string> decode_base64(std::string_view text) {
    std::string out;
    out.reserve(text.size() / 4 * 3 + 3);
    if (!decode_to(text, [&out](std::string_view bytes) { out.append(bytes); })) {
        return std::nullopt;
    }
    return out;
}

std::string encode_base64(std::string_view bytes) {
    std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0'); // It writes a NUL behind the text.
    const int size = EVP_EncodeBlock(
        reinterpret_cast<unsigned char*>(out.data()),
        reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size())
    );
    out.resize(static_cast<std::size_t>(size));
    return out;
}

std::string_view part_type_of(std::string_view mime_type) noexcept {
    const std::string_view given = trimmed(mime_type.substr(0, mime_type.find('/')));
    for (const std::string_view type : {"image", "audio", "video"}) {
        if (equal_ignoring_case(given, type)) {
            return type;
        }
    }
    return "document";
}

boost::json::value part_of(const attachment& what) {
    return {
        {"type", part_type_of(what.mime_type)},
        {"source",
         {{"type", "data"}, {"value", encode_base64(what.bytes)}, {"mimeType", what.mime_type}}}
    };
}

part_digest digest_of(const data_part& part) {
    count_work();
    sha256_hash hash;
    if (decode_to(part.value, [&hash](std::string_view bytes) { hash.add(bytes); })) {
        return hash.end();
    }
    return digest_of_text(part.value);
}

part_digest digest_of_text(std::string_view text) {
    count_work();
    sha256_hash hash;
    hash.add(text);
    return hash.end();
}

bool is_sha256(std::string_view text) noexcept {
    return text.size() == 2 * sha256_bytes && std::ranges::all_of(text, [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

} // namespace agui::session
