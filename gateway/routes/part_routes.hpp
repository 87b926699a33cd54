#pragma once

#include "gateway/http/router.hpp"
#include "gateway/routes/input_parser.hpp"
#include "gateway/run/part_links.hpp"
#include "session/base/clock.hpp"
#include "session/store/store.hpp"

#include <cstdint>

namespace agui::gateway {

/// `GET /agui/threads/{threadId}/parts/{sha256}?token=…`: the bytes of a part of the thread, for
/// whoever has the link (part_links). A link that is wrong or expired, and one whose part is gone,
/// are the same 404. Raster images, audio and video are shown in place; everything else is
/// downloaded, and nothing is ever executed in the server's origin. The references must outlive
/// the route.
[[nodiscard]] route
make_part_route(session::store& store, const part_links& links, const clock& time);

/// `POST /agui/threads/{threadId}/parts`: keeps a media part with bytes (`source.type` "data"), and
/// answers with the same part, whose source is its link, or with the note that names it where there
/// are no links. Either may stand in a message of the thread instead of the bytes. The thread need
/// not exist; its attachments take at most `max_thread_bytes`. The references must outlive the
/// route.
[[nodiscard]] route make_attachment_route(
    session::store& store, const part_links& links, const clock& time, input_parser& parser,
    std::uint64_t max_thread_bytes
);

} // namespace agui::gateway
