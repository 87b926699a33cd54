#pragma once

#include "translator/verifier/verifier_schema.hpp"

#include <boost/json/object.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

// The verifier's view of *_CHUNK events. Internal to this folder.
namespace agui::translator {

/// Expands chunks into START, CONTENT and END events, as clients do before they verify. At most one
/// stream is pending per lane; a lane is a subagent or the parent agent.
class chunk_expander {
public:
    struct expansion {
        violation wrong; ///< One of C1 to C7; then `events` is unusable.
        std::vector<boost::json::object> events;
    };

    /// `event` must have passed check_schema(). Other events are returned unchanged, after the ENDs
    /// that they cause.
    [[nodiscard]] expansion expand(const boost::json::object& event);

private:
    struct form; ///< The names that belong to one kind of chunk.
    struct pending {
        const form* kind = nullptr;
        std::string id;
        boost::json::object opener; ///< Members of the first chunk, which are fixed for the others.
    };
    using lane_map = std::map<std::string, pending, std::less<>>;

    struct choice {
        std::string lane;
        violation wrong;
    };

    [[nodiscard]] choice
    choose_lane(const boost::json::object& chunk, const form& kind, std::string_view id) const;
    void close(lane_map::iterator lane, std::vector<boost::json::object>& out);
    void close_for(const boost::json::object& event, std::vector<boost::json::object>& out);
    [[nodiscard]] violation open(
        const std::string& lane, const form& kind, const boost::json::object& chunk,
        std::vector<boost::json::object>& out
    );
    [[nodiscard]] static violation
    check_agreement(const pending& stream, const boost::json::object& chunk);

    lane_map lanes_;
};

} // namespace agui::translator
