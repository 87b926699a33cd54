#include "runner/hooks/plugin.hpp"

namespace agui::runner {

boost::asio::awaitable<turn_clean_up> plugin::on_turn_start(plugin_turn& /*turn*/) {
    co_return turn_clean_up();
}

boost::asio::awaitable<void>
plugin::on_before_request(plugin_turn& /*turn*/, request_draft& /*request*/) {
    co_return;
}

void plugin::on_stream_data(
    plugin_turn& /*turn*/, const session::message& /*so_far*/, const stream_data& /*data*/
) {}

boost::asio::awaitable<void>
plugin::on_after_request(plugin_turn& /*turn*/, after_request& /*request*/) {
    co_return;
}

boost::asio::awaitable<void>
plugin::on_message_append(plugin_turn& /*turn*/, appended_message& /*appended*/) {
    co_return;
}

boost::asio::awaitable<void> plugin::on_turn_end(plugin_turn& /*turn*/, stop_reason /*reason*/) {
    co_return;
}

} // namespace agui::runner
