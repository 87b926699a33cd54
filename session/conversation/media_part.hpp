#pragma once

#include "session/conversation/attachment.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace agui::session {

/// A content part that holds its bytes itself: `{"type":"image","source":{"type":"data",…}}`, or a
/// data URL in base64 as its source. The views are valid as long as the part.
struct data_part {
    std::string_view value;          ///< Base64, or whatever the client sent.
    std::string_view mime_type = {}; ///< Empty if the client gave none.
};

/// nullopt: the part holds no bytes.
[[nodiscard]] std::optional<data_part> data_part_of(const boost::json::value& part) noexcept;

/// The bytes of base64 (RFC 4648, both alphabets). Line ends, blanks and missing padding are
/// accepted. nullopt: it is not base64.
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

/// True for 64 hexadecimal digits in lower case.
[[nodiscard]] bool is_sha256(std::string_view text) noexcept;

} // namespace agui::session
