#include "runner/base/call_ids.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace agui::runner {
namespace {

bool consists_of(std::string_view id, std::string_view others) {
    return std::ranges::all_of(id, [others](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               others.find(c) != std::string_view::npos;
    });
}

TEST(CallIds, AnIdThatFitsIsSentAsItIs) {
    call_ids common(call_id_form::common);
    for (const std::string& id :
         {std::string("call_PLacR3Yr0k5A9"), std::string("toolu_01-x"), std::string("1"),
          std::string("01a216a4-36b8-7a18-8537-c08889f9fd8d"), std::string(40, 'x')}) {
        EXPECT_EQ(common.sent(id), id);
    }
    EXPECT_EQ(call_ids(call_id_form::nine).sent("aB3dE6gH9"), "aB3dE6gH9");
}

TEST(CallIds, AnotherIdIsMadeToFitTheSameInEachRequest) {
    for (const std::string& id :
         {std::string("functions.paint:0"),
          std::string("portkey-6aa6db90-1b84-4155-9f32-f658c97d6b1b"), std::string("a b"),
          std::string("\xC3\xA9"), std::string(), std::string(512, 'x')}) {
        SCOPED_TRACE(id);
        call_ids request(call_id_form::common);
        const std::string made(request.sent(id));

        EXPECT_TRUE(!made.empty() && made.size() <= 40 && consists_of(made, "_-")) << made;
        EXPECT_EQ(request.sent(id), made) << "in the result";
        EXPECT_EQ(call_ids(call_id_form::common).sent(id), made) << "in the next request";
    }
}

TEST(CallIds, MistralsHaveNineLettersAndDigits) {
    for (const std::string_view id :
         {"call_PTLP8xhu3uwZk4l3nlnrrJha", "01a216a4-36b8-7a18-8537-c08889f9fd8d",
          "functions.paint:0", "12345678", "1234567890", "12345678_", ""}) {
        SCOPED_TRACE(id);
        const std::string made(call_ids(call_id_form::nine).sent(id));

        EXPECT_TRUE(made.size() == 9 && consists_of(made, "")) << made;
        EXPECT_EQ(call_ids(call_id_form::nine).sent(id, true), made) << "its own, too";
    }
}

TEST(CallIds, TheServersOwnIsSentAsItIs) {
    call_ids request(call_id_form::common);

    EXPECT_EQ(request.sent("functions.paint:0", true), "functions.paint:0");
    EXPECT_EQ(request.sent("functions.paint:0"), "functions.paint:0") << "in the result";
    EXPECT_NE(request.sent("functions.paint:1"), "functions.paint:1");
}

TEST(CallIds, NoTwoBecomeTheSame) {
    for (const call_id_form form : {call_id_form::common, call_id_form::nine}) {
        const std::string made(call_ids(form).sent("functions.paint:0"));
        call_ids made_first(form);
        EXPECT_EQ(made_first.sent("functions.paint:0"), made);
        EXPECT_NE(made_first.sent(made), made) << "the later one changes";
        call_ids made_last(form);
        EXPECT_EQ(made_last.sent(made), made);
        EXPECT_NE(made_last.sent("functions.paint:0"), made);

        call_ids many(form);
        std::set<std::string, std::less<>> sent;
        for (int i = 0; i < 5000; ++i) {
            sent.emplace(many.sent("functions.paint:" + std::to_string(i)));
        }
        EXPECT_EQ(sent.size(), 5000U);
    }
}

// A conversation outlives the process, and its requests must always begin alike.
TEST(CallIds, AreMadeTheSameForEver) {
    EXPECT_EQ(call_ids(call_id_form::common).sent("functions.paint:0"), "call_x2ptjf1zctav");
    EXPECT_EQ(call_ids(call_id_form::nine).sent("functions.paint:0"), "x2ptjf1zc");
}

} // namespace
} // namespace agui::runner
