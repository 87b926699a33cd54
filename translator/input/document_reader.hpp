#pragma once

#include "session/base/error.hpp"
#include "session/base/json_text.hpp"
#include "session/base/memory_budget.hpp"

#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agui::translator {

/// Rules for reading a document from outside. "Its members" are those of the outermost object.
struct document_rules {
    std::size_t max_depth = 64;
    /// The only members that are built as values. If empty, the whole document is built.
    std::span<const std::string_view> built;
    /// The member that is kept as text instead; may be empty.
    std::string_view as_text;
    /// The whole document is kept as text, and no values are built.
    bool all_as_text = false;
    /// Members that are left out of `canonical`.
    std::span<const std::string_view> uncounted;
    /// Members in which all inner members with secret names, at any depth, are dropped. If this is
    /// not empty, `is_secret` must be set.
    std::span<const std::string_view> with_secrets;
    bool (*is_secret)(std::string_view key) = nullptr;
    /// Counts the memory of the reader and of the values that it builds. May be null; must outlive
    /// the values.
    memory_budget* budget = nullptr;
};

struct document {
    boost::json::value value; ///< Its memory counts against the budget as long as it lives.
    /// The document as JSON with keys sorted at every level, strings and numbers in one form: equal
    /// documents give equal text.
    std::string canonical;
    /// The part kept as text, in the form of append_json(): members in the given order. `null` also
    /// if the member is absent.
    json_text text;
    bool has_text = false; ///< There is such a part.
    /// The first eight names of members that were neither built nor kept as text, each cut to 64
    /// bytes.
    std::vector<std::string> skipped;
};

/// Reads JSON in one pass. A part that is not built takes its length once more (in `canonical`); as
/// values it would take 25 to 38 times as much. A byte order mark is skipped, and the escape of an
/// unpaired surrogate, in any string, is read as U+FFFD. errc::invalid_json: the text is not JSON
/// in UTF-8, is nested deeper than max_depth or longer than 512 MB, has more than 1024 members (and
/// is not kept as text), has two members of the same name in an object, or a number too large for a
/// double (it could not be written again); for the last two, `path` says where. errc::overloaded:
/// the budget has no room.
[[nodiscard]] result<document> read_document(std::string_view text, const document_rules& rules);

} // namespace agui::translator
