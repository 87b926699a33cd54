#include "runner/responses/responses_media.hpp"

#include "runner/base/json_text.hpp"
#include "runner/provider/media_url.hpp"
#include "session/conversation/media_part.hpp"

namespace agui::runner {

namespace {

using session::media_part;
using source = media_part::source;

} // namespace

bool append_input_part(
    std::string& out, const boost::json::object& part, const responses_settings& settings
) {
    const media_part given = session::read_media_part(part);
    const bool is_image = given.what == media_part::kind::image;
    if ((!is_image && given.what != media_part::kind::document) || !may_pass(given, settings)) {
        return false;
    }
    out.append(is_image ? R"({"type":"input_image")" : R"({"type":"input_file")");
    if (given.from == source::file) {
        append_text_member(out, "file_id", given.value);
    } else if (given.from == source::url) {
        append_text_member(out, is_image ? "image_url" : "file_url", given.value);
    } else {
        if (!is_image) { // The server demands a name for data.
            append_text_member(
                out, "filename", given.filename.empty() ? "document" : given.filename
            );
        }
        out.append(is_image ? R"(,"image_url":)" : R"(,"file_data":)");
        append_data_url(out, given);
    }
    out.push_back('}');
    return true;
}

} // namespace agui::runner
