#include "gateway/http/router.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>

namespace agui::gateway {
namespace {

router make_router() {
    return router(
        "/base",
        {{.method = "GET", .pattern = "/things/{id}", .handler = {}, .access = route_access::open()}
        },
        {{.path = "/things",
          .write =
              [](http_reply reply) {
                  return reply;
              }}}
    );
}

TEST(Router, KnowsTheFormOfRefusalsByThePath) {
    const router routes = make_router();

    for (const std::string_view path :
         {"/base/things", "/base/things/", "/base/things/a", "/base/thin%67s/a/b"}) {
        EXPECT_NE(routes.form_of(path), nullptr) << path;
    }
    for (const std::string_view path :
         {"/base", "/base/", "/base/thingsx", "/things", "/base/other/things", "/basethings",
          "/base/%zz", ""}) {
        EXPECT_EQ(routes.form_of(path), nullptr) << path;
    }
}

TEST(Router, AParameterIsUtf8) {
    const router routes = make_router();
    const auto finds = [&routes](std::string_view path) {
        return std::holds_alternative<router::found>(routes.match("GET", path));
    };

    EXPECT_TRUE(finds("/base/things/%C3%A9"));
    EXPECT_TRUE(finds("/base/things/a%2Fb"));
    for (const std::string_view path :
         {"/base/things/%FF", "/base/things/%C3", "/base/things/%ED%A0%80"}) {
        EXPECT_FALSE(finds(path)) << path;
    }
}

} // namespace
} // namespace agui::gateway
