#pragma once

#include <boost/json/object.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agui::translator {

/// What a stream that was broken off has started and not ended: texts, calls, reasoning. Takes the
/// events in order; an object that is no such event changes nothing.
class open_brackets {
public:
    struct bracket {
        std::string_view end_type; ///< The type of the event that ends it.
        std::string_view id_key;   ///< The member of that event that holds the id.
        std::string id;
    };

    void read(const boost::json::object& event);

    /// Outermost first.
    [[nodiscard]] const std::vector<bracket>& open() const noexcept { return open_; }

private:
    std::vector<bracket> open_;
};

} // namespace agui::translator
