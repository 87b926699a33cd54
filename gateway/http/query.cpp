#include "gateway/http/query.hpp"

#include <boost/url/params_encoded_view.hpp>
#include <boost/url/parse_query.hpp>

#include <algorithm>

namespace agui::gateway {

namespace {

constexpr std::size_t parameters_max = 64;

failure invalid(std::string detail) { return {errc::invalid_input, std::move(detail), "query"}; }

} // namespace

const std::string* query_parameters::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find(all_, name, &std::pair<std::string, std::string>::first);
    return found == all_.end() ? nullptr : &found->second;
}

result<query_parameters> parse_query(std::string_view query) {
    std::vector<std::pair<std::string, std::string>> all;
    if (query.empty()) {
        return query_parameters(std::move(all));
    }
    const auto parsed = boost::urls::parse_query({query.data(), query.size()});
    if (!parsed) {
        return invalid("the query is not a valid URL query");
    }
    if (parsed->size() > parameters_max) {
        return invalid("the query has too many parameters");
    }
    boost::urls::encoding_opts form;
    form.space_as_plus = true;
    for (const auto& parameter : *parsed) {
        all.emplace_back(parameter.key.decode(form), parameter.value.decode(form));
    }
    return query_parameters(std::move(all));
}

bool has_parameter(std::string_view query, std::string_view name) {
    const result<query_parameters> parsed = parse_query(query);
    return parsed && parsed->find(name) != nullptr;
}

} // namespace agui::gateway
