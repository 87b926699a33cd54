#pragma once

#include "gateway/http/router.hpp"
#include "gateway/quota/quotas.hpp"
#include "gateway/routes/input_parser.hpp"
#include "gateway/run/part_links.hpp"
#include "session/base/clock.hpp"
#include "session/store/store.hpp"

#include <cstdint>

namespace agui::gateway {

/// `GET /agui/threads/{threadId}/parts/{sha256}?token=…`: the bytes of a part of the thread, for
/// any client that has the link (part_links). Answers the same 404 for an invalid link, an expired
/// link and a removed part. Raster images, audio and video are shown in place; everything else is
/// downloaded, and nothing is ever executed in the server's origin. The references must outlive the
/// route.
[[nodiscard]] route
make_part_route(session::store& store, const part_links& links, const clock& time);

/// `POST /agui/threads/{threadId}/parts`: stores a media part with bytes (`source.type` "data"),
/// and answers with the same part with its link as the source or, if links are disabled, with a
/// note that names it. A message of the thread may hold either instead of the bytes. The thread
/// need not exist; its attachments take at most `max_thread_bytes`. `limits` may be null. It and
/// the references must outlive the route.
[[nodiscard]] route make_attachment_route(
    session::store& store, const part_links& links, const clock& time, input_parser& parser,
    quotas* limits, std::uint64_t max_thread_bytes
);

} // namespace agui::gateway
