#pragma once

#include "session/conversation/attachment.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace agui::session {

/// A content part that is not text, in terms of no particular dialect: its kind, and where its
/// bytes are. Views live as long as the part.
struct media_part {
    enum class kind { image, audio, video, document, other };
    enum class source { none, data, url, file };
    kind what = kind::other;
    source from = source::none;
    std::string_view value;    ///< Base64 without a `data:` prefix, the URL, or the file handle.
    std::string mime_type;     ///< See media_type(); empty if unknown.
    std::string_view provider; ///< file: the issuer of the handle; empty if unknown.
    std::string_view filename;
};

/// Reads an AG-UI part (`image`, `audio`, `video`, `document`, or the legacy `binary`). A data URL
/// in base64 is read as data, whichever source it is given as. Its own media type takes precedence,
/// unless it has none or only application/octet-stream: then the declared one applies. Any other
/// data URL stays a URL.
[[nodiscard]] media_part read_media_part(const boost::json::object& part);

/// The registered name of a media type: in lower case, without parameters, and without the names
/// that browsers and libraries use but model servers refuse (`image/jpg`, `audio/mp3`).
[[nodiscard]] std::string media_type(std::string_view given);

/// The bytes that a content part holds itself. The view is valid as long as the part.
struct data_part {
    std::string_view value;     ///< Base64 unless the client sent something else.
    std::string mime_type = {}; ///< See media_type(); empty if unknown.
};

/// The data of a part whose `source` is data or a data URL in base64, as read_media_part() reads
/// it. nullopt if the part holds no bytes.
[[nodiscard]] std::optional<data_part> data_part_of(const boost::json::value& part);

/// The text of a text part; empty for any other kind of part.
[[nodiscard]] std::string_view text_of_part(const boost::json::value& part) noexcept;

/// The bytes of base64 (RFC 4648, both alphabets). Line ends, blanks and missing padding are
/// accepted. nullopt if the text is not base64.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

/// Bytes as base64 (RFC 4648, section 4).
[[nodiscard]] std::string encode_base64(std::string_view bytes);

/// The kind of a part with bytes of that type: "image", "audio", "video" or "document".
[[nodiscard]] std::string_view part_type_of(std::string_view mime_type) noexcept;

/// An attachment as a part of a message.
[[nodiscard]] boost::json::value part_of(const attachment& what);

/// Names the bytes of a data part.
struct part_digest {
    std::string sha256; ///< 64 hexadecimal digits in lower case.
    std::size_t bytes = 0;

    friend bool operator==(const part_digest&, const part_digest&) = default;
};

/// The digest of the decoded bytes, or of the text itself if it is not base64. Takes no memory for
/// the bytes, and time proportional to the text.
[[nodiscard]] part_digest digest_of(const data_part& part);

/// The digest of a text.
[[nodiscard]] part_digest digest_of_text(std::string_view text);

/// True if the text is 64 hexadecimal digits in lower case.
[[nodiscard]] bool is_sha256(std::string_view text) noexcept;

} // namespace agui::session
