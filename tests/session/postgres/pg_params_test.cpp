#include "session/postgres/pg_params.hpp"

#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_target.hpp"

#include <gtest/gtest.h>

namespace agui::session {
namespace {

using namespace std::string_literals;

std::string value_of(const pg_params& params, std::size_t i) {
    const pg_params::view view = params.as_arguments();
    return {view.values.at(i), static_cast<std::size_t>(view.lengths.at(i))};
}

TEST(PgParams, AreBinaryAndHaveTypes) {
    pg_params params;
    params.add(std::int64_t{258});
    params.add(true);
    params.add(pg_text{"abc"});
    params.add(std::string("\xff\0z"s));
    params.add(std::optional<std::int64_t>());
    params.add(std::optional<std::string_view>());

    EXPECT_EQ(params.types(), (std::vector<unsigned>{20, 16, 25, 17, 20, 17}));
    EXPECT_EQ(value_of(params, 0), "\0\0\0\0\0\0\1\2"s);
    EXPECT_EQ(value_of(params, 1), "\1"s);
    EXPECT_EQ(value_of(params, 2), "abc");
    EXPECT_EQ(value_of(params, 3), "\xff\0z"s);
    const pg_params::view view = params.as_arguments();
    EXPECT_EQ(view.values.at(4), nullptr);
    EXPECT_EQ(view.values.at(5), nullptr);
    EXPECT_EQ(view.formats, (std::vector<int>{1, 1, 1, 1, 1, 1}));
}

TEST(PgParams, EncodeArrays) {
    pg_params params;
    params.add(std::vector<std::int64_t>{1, -1});
    params.add(std::vector<std::string>{"ab", ""});
    params.add(std::vector<std::int64_t>());

    EXPECT_EQ(params.types(), (std::vector<unsigned>{1016, 1001, 1016}));
    EXPECT_EQ(
        value_of(params, 0), "\0\0\0\1\0\0\0\0\0\0\0\x14\0\0\0\2\0\0\0\1"
                             "\0\0\0\x8\0\0\0\0\0\0\0\1\0\0\0\x8\xff\xff\xff\xff\xff\xff\xff\xff"s
    );
    EXPECT_EQ(value_of(params, 1), "\0\0\0\1\0\0\0\0\0\0\0\x11\0\0\0\2\0\0\0\1\0\0\0\2ab\0\0\0\0"s);
    EXPECT_EQ(value_of(params, 2), "\0\0\0\0\0\0\0\0\0\0\0\x14"s);
}

TEST(PgError, RepeatsNoValues) {
    EXPECT_EQ(safe_message("57P01", "terminating\nconnection"), "terminating; connection");
    EXPECT_EQ(
        safe_message("22P02", "invalid input: \"secret\""), "the server has refused a statement"
    );
    EXPECT_EQ(safe_message("23505", "secret"), "the server has refused a statement");
    EXPECT_EQ(safe_message("", "lost\n"), "lost");
}

TEST(PgError, KnowsErrorsThatMaySucceedLater) {
    const auto refused = pg_error::effect::refused;
    EXPECT_TRUE(pg_error("40001", "", refused).may_succeed_later());
    EXPECT_TRUE(pg_error("40P01", "", refused).may_succeed_later());
    EXPECT_TRUE(pg_error("55P03", "", refused).may_succeed_later());
    EXPECT_FALSE(pg_error("57014", "", refused).may_succeed_later());
    EXPECT_TRUE(pg_error("AG001", "", refused).is_fenced());
    EXPECT_EQ(pg_error("57014", "text", refused).what(), "text (SQLSTATE 57014)"s);
}

TEST(PgTarget, DoesNotRepeatAUrlThatCannotBeRead) {
    for (const char* url : {"postgresql://u:secret%zz@h/db", "nonsense=secret", "host='secret"}) {
        SCOPED_TRACE(url);
        try {
            const pg_target target(url, "");
            ADD_FAILURE() << "it was read";
        } catch (const std::runtime_error& error) {
            EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
        }
    }
}

} // namespace
} // namespace agui::session
