#pragma once

#include <boost/json/object.hpp>

#include <string>
#include <string_view>

namespace agui::runner {

/// A content part that is not text, in terms that no dialect has invented: its kind, and where its
/// bytes are. Views live as long as the part.
struct media_part {
    enum class kind { image, audio, video, document, other };
    enum class source { none, data, url, file };
    kind what = kind::other;
    source from = source::none;
    std::string_view value;    ///< data: base64, without a `data:` in front; a URL; a handle.
    std::string mime_type;     ///< See media_type(); empty: unknown.
    std::string_view provider; ///< file: whose handle it is; empty: unknown.
    std::string_view filename;
};

/// Reads an AG-UI part (`image`, `audio`, `video`, `document`, or the legacy `binary`). A data URL
/// in base64 is data, whichever source it is given as, and its own media type counts; the declared
/// one does if it has none, or only application/octet-stream. Another data URL is a URL.
[[nodiscard]] media_part read_media_part(const boost::json::object& part);

/// The registered name of a media type: in lower case, without parameters, and without the names
/// that browsers and libraries use but model servers refuse (`image/jpg`, `audio/mp3`).
[[nodiscard]] std::string media_type(std::string_view given);

} // namespace agui::runner
