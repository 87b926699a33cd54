#include "runner/responses/responses_media.hpp"

#include "runner/base/json_text.hpp"
#include "runner/provider/media_url.hpp"
#include "session/conversation/media_part.hpp"

#include <string_view>

namespace agui::runner {

namespace {

using session::media_part;
using kind = media_part::kind;
using source = media_part::source;

bool may_be_sent(const media_part& part, const responses_settings& settings) {
    switch (part.from) {
    case source::data:
        return true;
    case source::url:
        return is_media_url(part.value, settings.media_urls);
    case source::file:
        // A handle is valid only on the server that made it.
        return settings.file_sources &&
               (part.provider.empty() || part.provider == settings.provider_name);
    case source::none:
        break;
    }
    return false;
}

void append_member(std::string& out, std::string_view name, std::string_view value) {
    out.append(",\"").append(name).append("\":");
    append_json_string(out, value);
}

} // namespace

bool append_input_part(
    std::string& out, const boost::json::object& part, const responses_settings& settings
) {
    const media_part given = session::read_media_part(part);
    const bool is_image = given.what == kind::image;
    if ((!is_image && given.what != kind::document) || !may_be_sent(given, settings)) {
        return false;
    }
    out.append(is_image ? R"({"type":"input_image")" : R"({"type":"input_file")");
    if (given.from == source::file) {
        append_member(out, "file_id", given.value);
    } else if (given.from == source::url) {
        append_member(out, is_image ? "image_url" : "file_url", given.value);
    } else {
        if (!is_image) { // The server demands a name for data.
            append_member(out, "filename", given.filename.empty() ? "document" : given.filename);
        }
        out.append(is_image ? R"(,"image_url":)" : R"(,"file_data":)");
        append_data_url(out, given);
    }
    out.push_back('}');
    return true;
}

} // namespace agui::runner
