#pragma once

#include "gateway/http/router.hpp"
#include "gateway/run/part_links.hpp"
#include "session/base/clock.hpp"
#include "session/base/heavy_work.hpp"
#include "session/store/store.hpp"

#include <chrono>

namespace agui::gateway {

/// GET /agui/threads/{id}/messages: the messages of the head branch, or of ?branch=N;
/// ?protocolVersion chooses the form. With ?limit or ?before a page of them
/// (session::cut_to_page): the last ones, or those before the message with that id, and whether
/// there are earlier ones. The pictures and files of a page are links if the server has a public
/// URL. A thread that does not exist yet has no messages. The messages of a large thread are
/// written by `heavy`. What is given must outlive the handler.
[[nodiscard]] http_handler make_messages_route(
    session::store& store, const part_links& links, const clock& time, heavy_work& heavy,
    std::chrono::seconds approval_life
);

} // namespace agui::gateway
