#include "session/conversation/media_part.hpp"

#include <boost/json/object.hpp>

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <new>

namespace agui::session {

namespace {

constexpr std::size_t sha256_bytes = 32;

std::string_view text_in(const boost::json::object& object, std::string_view name) noexcept {
    const boost::json::value* const member = object.if_contains(name);
    const boost::json::string* const text = member != nullptr ? member->if_string() : nullptr;
    return text != nullptr ? std::string_view(text->data(), text->size()) : std::string_view();
}

/// Pages give data URLs (RFC 2397) as the URL or as the data. False: the value is none in base64.
bool take_data_url(data_part& part) noexcept {
    constexpr std::string_view scheme = "data:";
    constexpr std::string_view encoding = ";base64";
    const std::size_t comma = part.value.find(',');
    if (!part.value.starts_with(scheme) || comma == std::string_view::npos) {
        return false;
    }
    std::string_view type = part.value.substr(scheme.size(), comma - scheme.size());
    if (!type.ends_with(encoding)) {
        return false;
    }
    type = type.substr(0, type.find(';'));
    part.value.remove_prefix(comma + 1);
    part.mime_type = type.empty() ? part.mime_type : type;
    return true;
}

/// The value of a base64 digit; -1: the character is none.
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

/// Gives the decoded bytes to `take`, some at a time. False: the text is not base64.
template <class Take>
bool decode_to(std::string_view text, Take take) {
    std::array<char, 3072> decoded{};
    std::size_t size = 0;
    std::uint32_t bits = 0;
    unsigned digits = 0; // Of the current group of four.
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

std::optional<data_part> data_part_of(const boost::json::value& part) noexcept {
    const boost::json::object* const object = part.if_object();
    const boost::json::value* const source =
        object != nullptr ? object->if_contains("source") : nullptr;
    const boost::json::object* const fields = source != nullptr ? source->if_object() : nullptr;
    if (fields == nullptr) {
        return std::nullopt;
    }
    data_part found{.value = text_in(*fields, "value"), .mime_type = text_in(*fields, "mimeType")};
    if (take_data_url(found) || text_in(*fields, "type") == "data") {
        return found;
    }
    return std::nullopt;
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
    const std::string_view type = mime_type.substr(0, mime_type.find('/'));
    return type == "image" || type == "audio" || type == "video" ? type : "document";
}

boost::json::value part_of(const attachment& what) {
    return {
        {"type", part_type_of(what.mime_type)},
        {"source",
         {{"type", "data"}, {"value", encode_base64(what.bytes)}, {"mimeType", what.mime_type}}}
    };
}

part_digest digest_of(const data_part& part) {
    sha256_hash hash;
    if (decode_to(part.value, [&hash](std::string_view bytes) { hash.add(bytes); })) {
        return hash.end();
    }
    return digest_of_text(part.value);
}

part_digest digest_of_text(std::string_view text) {
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
