#include "runner/anthropic/anthropic_media.hpp"

#include "runner/base/json_text.hpp"
#include "runner/base/utf8.hpp"
#include "runner/provider/media_url.hpp"
#include "session/base/contains.hpp"
#include "session/base/white_space.hpp"
#include "session/conversation/media_part.hpp"

#include <array>
#include <optional>
#include <string_view>

namespace agui::runner {

namespace {

using session::media_part;
using kind = media_part::kind;
using source = media_part::source;

// The server answers 400 to other types.
constexpr std::array<std::string_view, 4> image_types = {
    "image/jpeg", "image/png", "image/gif", "image/webp"
};
constexpr std::string_view pdf_type = "application/pdf";

bool is_image_type(std::string_view type) noexcept { return contains(image_types, type); }

void append_base64(std::string& out, const media_part& from) {
    out.append(R"({"type":"base64")");
    append_text_member(out, "media_type", from.mime_type);
    append_text_member(out, "data", from.value);
    out.push_back('}');
}

/// The source of an image or a document; false if there is none that may be sent.
bool append_source(std::string& out, const media_part& from, const anthropic_settings& settings) {
    if (!may_pass(from, settings)) {
        return false;
    }
    if (from.from == source::data) {
        const bool known =
            from.what == kind::image ? is_image_type(from.mime_type) : from.mime_type == pdf_type;
        if (known) {
            append_base64(out, from);
        }
        return known;
    }
    const bool is_url = from.from == source::url;
    if (is_url && from.value.starts_with("data:")) {
        return false; // Unlike other servers, this one reads no data in URLs.
    }
    out.append(is_url ? R"({"type":"url")" : R"({"type":"file")");
    append_text_member(out, is_url ? "url" : "file_id", from.value);
    out.push_back('}');
    return true;
}

/// The text of a document of plain text; nullopt for any other part.
std::optional<std::string> plain_text_of(const media_part& from) {
    if (from.from != source::data || !from.mime_type.starts_with("text/")) {
        return std::nullopt;
    }
    std::optional<std::string> text = session::decode_base64(from.value);
    if (!text || !is_utf8(*text) || is_blank(*text)) {
        return std::nullopt;
    }
    return text;
}

} // namespace

bool append_media_block(
    std::string& out, const boost::json::object& part, const anthropic_settings& settings
) {
    const media_part given = session::read_media_part(part);
    if (given.what != kind::image && given.what != kind::document) {
        return false;
    }
    const std::size_t begin = out.size();
    out.append(
        given.what == kind::image ? R"({"type":"image","source":)"
                                  : R"({"type":"document","source":)"
    );
    if (given.what == kind::document) {
        if (const std::optional<std::string> text = plain_text_of(given)) {
            out.append(R"({"type":"text","media_type":"text/plain")");
            append_text_member(out, "data", *text);
            out.push_back('}');
        } else if (!append_source(out, given, settings)) {
            out.resize(begin);
            return false;
        }
        if (!given.filename.empty()) {
            append_text_member(out, "title", given.filename);
        }
    } else if (!append_source(out, given, settings)) {
        out.resize(begin);
        return false;
    }
    out.push_back('}');
    return true;
}

} // namespace agui::runner
