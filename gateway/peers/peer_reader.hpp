#pragma once

#include "gateway/peers/peer.hpp"
#include "gateway/run/peer_door.hpp"
#include "runner/http/http_client.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>

namespace agui::gateway {

/// Reads, on `executor`, the answer to a request for a log after entry `after`; `stream` is the
/// stream number in that request.
[[nodiscard]] std::unique_ptr<entry_reader> make_peer_reader(
    const boost::asio::any_io_executor& executor, std::shared_ptr<peer> from,
    std::unique_ptr<runner::transport_response> answer, std::uint64_t after, std::int64_t stream
);

} // namespace agui::gateway
