// A hand-off with the Go community SDK, carried to its end: main URL THREAD MESSAGE NEXT.
//
// Asks MESSAGE with a tool on offer, executes the call, sends the answer with the whole history as the SDK's
// examples do, and then asks NEXT. Prints what it saw as one JSON object. Exit status 1 and a line on stderr if
// the server's answers are not what the SDK accepts.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/client/sse"
	"github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/core/events"
	"github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/core/types"
	"github.com/sirupsen/logrus"
)

type call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"`
}

// turn is what one run said.
type turn struct {
	MessageID string `json:"messageId"`
	Text      string `json:"text"`
	Calls     []call `json:"calls"`
}

type conversation struct {
	client   *sse.Client
	threadID string
	messages []types.Message
}

var background = types.Tool{
	Name:        "change_background",
	Description: "Changes the background colour of the page.",
	Parameters: map[string]any{
		"type":       "object",
		"properties": map[string]any{"color": map[string]any{"type": "string"}},
		"required":   []string{"color"},
	},
}

// take adds one event to the turn.
func (t *turn) take(event events.Event) error {
	switch e := event.(type) {
	case *events.TextMessageStartEvent:
		t.MessageID = e.MessageID
	case *events.TextMessageContentEvent:
		t.Text += e.Delta
	case *events.ToolCallStartEvent:
		if e.ParentMessageID != nil {
			t.MessageID = *e.ParentMessageID
		}
		t.Calls = append(t.Calls, call{ID: e.ToolCallID, Name: e.ToolCallName})
	case *events.ToolCallArgsEvent:
		t.Calls[len(t.Calls)-1].Args += e.Delta
	case *events.RunErrorEvent:
		return errors.New("RUN_ERROR: " + e.Message)
	}
	return nil
}

// message is the assistant message that a client keeps of the turn.
func (t *turn) message() types.Message {
	message := types.Message{ID: t.MessageID, Role: types.RoleAssistant}
	if t.Text != "" {
		message.Content = t.Text
	}
	for _, made := range t.Calls {
		message.ToolCalls = append(message.ToolCalls, types.ToolCall{
			ID:       made.ID,
			Type:     types.ToolCallTypeFunction,
			Function: types.FunctionCall{Name: made.Name, Arguments: made.Args},
		})
	}
	return message
}

// run sends the conversation and reads one run to its end.
func (c *conversation) run() (*turn, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	frames, failures, err := c.client.Stream(sse.StreamOptions{
		Context: ctx,
		Payload: types.RunAgentInput{
			ThreadID: c.threadID,
			RunID:    events.GenerateRunID(),
			State:    map[string]any{},
			Messages: c.messages,
			Tools:    []types.Tool{background},
			Context:  []types.Context{},

			ForwardedProps: map[string]any{},
		},
	})
	if err != nil {
		return nil, err
	}
	said := &turn{}
	var seen []events.Event
	for frame := range frames {
		event, err := events.EventFromJSON(frame.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", frame.Data, err)
		}
		seen = append(seen, event)
		if err := said.take(event); err != nil {
			return nil, err
		}
	}
	if err := <-failures; err != nil {
		return nil, err
	}
	if len(seen) == 0 || seen[len(seen)-1].Type() != events.EventTypeRunFinished {
		return nil, errors.New("the stream does not end with RUN_FINISHED")
	}
	if err := events.ValidateSequence(seen); err != nil {
		return nil, err
	}
	c.messages = append(c.messages, said.message())
	return said, nil
}

func (c *conversation) ask(text string) (*turn, error) {
	c.messages = append(c.messages, types.Message{ID: events.GenerateMessageID(), Role: types.RoleUser, Content: text})
	return c.run()
}

func (c *conversation) answer(id, content string) (*turn, error) {
	c.messages = append(c.messages, types.Message{
		ID: events.GenerateMessageID(), Role: types.RoleTool, Content: content, ToolCallID: id,
	})
	return c.run()
}

func carry(url, threadID, message, next string) ([]*turn, error) {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	c := &conversation{client: sse.NewClient(sse.Config{Endpoint: url, Logger: logger}), threadID: threadID}
	defer c.client.Close()
	first, err := c.ask(message)
	if err != nil {
		return nil, fmt.Errorf("first request: %w", err)
	}
	if len(first.Calls) != 1 {
		return nil, fmt.Errorf("first request: %d calls", len(first.Calls))
	}
	second, err := c.answer(first.Calls[0].ID, `{"status":"ok"}`)
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	third, err := c.ask(next)
	if err != nil {
		return nil, fmt.Errorf("next message: %w", err)
	}
	return []*turn{first, second, third}, nil
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: main URL THREAD MESSAGE NEXT")
		os.Exit(2)
	}
	turns, err := carry(os.Args[1], os.Args[2], os.Args[3], os.Args[4])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"turns": turns}); err != nil {
		os.Exit(1)
	}
}
