#include "gateway/routes/accepted_form.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agui::gateway {
namespace {

bool gets_protobuf(const std::vector<std::string>& accepted) {
    http_request request;
    request.headers.emplace_back("host", "application/vnd.ag-ui.event+proto");
    for (const std::string& value : accepted) {
        request.headers.emplace_back("accept", value);
    }
    return &accepted_form(request) == &protobuf_form();
}

TEST(AcceptedForm, IsProtobufForAClientThatNamesIt) {
    for (const std::string accepted :
         {"application/vnd.ag-ui.event+proto", "Application/VND.AG-UI.event+PROTO",
          "text/event-stream, application/vnd.ag-ui.event+proto",
          "application/vnd.ag-ui.event+proto,text/event-stream",
          "application/vnd.ag-ui.event+proto;q=0.1, text/event-stream;q=1",
          " application/vnd.ag-ui.event+proto ; Q=0.001 ",
          "*/*;q=0, application/vnd.ag-ui.event+proto;q=1.000",
          "application/vnd.ag-ui.event+proto;q=1;ext=\"a,b\"",
          "application/vnd.ag-ui.event+proto;q=0, application/vnd.ag-ui.event+proto",
          "a/b;c=\"x, \\\" y\", application/vnd.ag-ui.event+proto"}) {
        EXPECT_TRUE(gets_protobuf({accepted})) << accepted;
    }
    EXPECT_TRUE(gets_protobuf({"text/event-stream", "application/vnd.ag-ui.event+proto"}));
}

TEST(AcceptedForm, IsServerSentEventsForEveryOtherClient) {
    for (const std::string accepted :
         {"",
          "*/*",
          "application/*",
          "text/event-stream",
          "application/json",
          ",",
          ";",
          "q=1",
          "application/vnd.ag-ui.event+proto;q=0",
          "application/vnd.ag-ui.event+proto;q=0.000",
          "application/vnd.ag-ui.event+proto;q=0, */*",
          "application/vnd.ag-ui.event+proto;q=",
          "application/vnd.ag-ui.event+proto;q=x",
          "application/vnd.ag-ui.event+proto;q=1.1",
          "application/vnd.ag-ui.event+proto;q=2",
          "application/vnd.ag-ui.event+proto;q=-1",
          "application/vnd.ag-ui.event+proto;q=0.0001",
          "application/vnd.ag-ui.event+proto;q=10",
          "application/vnd.ag-ui.event+proto;q=1x",
          "application/vnd.ag-ui.event+proto;version=1",
          "application/vnd.ag-ui.event+proto;version=1;q=1",
          "application/vnd.ag-ui.event+protobuf",
          "application/vnd.ag-ui.event",
          "\"application/vnd.ag-ui.event+proto\"",
          "a/b;c=\", application/vnd.ag-ui.event+proto"}) {
        EXPECT_FALSE(gets_protobuf({accepted})) << accepted;
    }
    EXPECT_FALSE(gets_protobuf({}));
}

} // namespace
} // namespace agui::gateway
