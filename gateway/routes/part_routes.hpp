#pragma once

#include "gateway/http/router.hpp"
#include "gateway/runs/part_links.hpp"
#include "session/base/clock.hpp"
#include "session/store/store.hpp"

namespace agui::gateway {

/// `GET /agui/threads/{threadId}/parts/{sha256}?token=…`: the bytes of a part of the thread, for
/// whoever has the link (part_links). A link that is wrong or expired, and one whose part is gone,
/// are the same 404. Raster images, audio and video are shown in place; everything else is
/// downloaded, and nothing is ever executed in the server's origin. The references must outlive
/// the route.
[[nodiscard]] route
make_part_route(session::store& store, const part_links& links, const clock& time);

} // namespace agui::gateway
