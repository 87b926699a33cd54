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

namespace agui::translator {

/// What read_document makes of a document from outside.
struct document_rules {
    std::size_t max_depth = 64;
    /// The only members of the document that are built as values; empty: the whole document is
    /// built.
    std::span<const std::string_view> built;
    /// The member of the document that is kept as text instead; empty: none.
    std::string_view as_text;
    /// The whole document is kept as text, and nothing of it is built.
    bool all_as_text = false;
    /// Members of the document that are left out of `canonical`.
    std::span<const std::string_view> uncounted;
    /// Members of the document in which, at any depth, members for which `is_secret` holds are
    /// dropped.
    std::span<const std::string_view> with_secrets;
    bool (*is_secret)(std::string_view key) = nullptr;
    /// The memory of the reader and of the values it builds is taken from it; null: not counted.
    memory_budget* budget = nullptr;
};

struct document {
    boost::json::value value; ///< Its memory counts against the budget as long as it lives.
    /// The document as JSON with keys sorted at every level, strings and numbers in one form: equal
    /// documents give equal text.
    std::string canonical;
    /// The part kept as text, as append_json() would write it: members in the order given. Null
    /// also if the member is absent.
    json_text text;
    std::size_t skipped = 0; ///< Members of the document that were neither built nor kept as text.
};

/// Reads JSON in one pass. A part that is not built costs its text once more (`canonical`), not 25
/// to 38 times its text as values would. Refused with errc::invalid_json and the `path` of what is
/// wrong: text that is not JSON in UTF-8, nesting deeper than max_depth, a duplicate member at any
/// level, and a number too large for a double (it could not be written again). errc::overloaded: no
/// room in the budget.
[[nodiscard]] result<document> read_document(std::string_view text, const document_rules& rules);

} // namespace agui::translator
