#include "runner/tools/run_context.hpp"

#include <boost/json/serialize.hpp>

namespace agui::runner {

boost::asio::awaitable<result<void>> run_context::replace_state(const boost::json::value& document
) {
    return change_state({.whole = json_text(boost::json::serialize(document))});
}

} // namespace agui::runner
