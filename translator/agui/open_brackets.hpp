#pragma once

#include <boost/json/object.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agui::translator {

/// The texts, calls, reasoning, steps and subagents that an interrupted stream has started and not
/// ended. Takes the
/// events in order; other objects change nothing.
class open_brackets {
public:
    struct bracket {
        std::string_view end_type; ///< The type of the event that ends it.
        std::string_view id_key;   ///< The member of that event with the id.
        std::string id;
        std::string subagent_run_id; ///< Of the subagent that it belongs to; empty if none.
    };

    void read(const boost::json::object& event);

    /// Outermost first.
    [[nodiscard]] const std::vector<bracket>& open() const noexcept { return open_; }

private:
    std::vector<bracket> open_;
};

} // namespace agui::translator
