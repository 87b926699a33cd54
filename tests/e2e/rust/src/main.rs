//! A hand-off with the Rust client, carried to its end: rust-client URL THREAD MESSAGE NEXT.
//!
//! Asks MESSAGE with a tool on offer, executes the call, sends the answer and then asks NEXT. With a THREAD (a UUID)
//! each request goes to it by `Agent::run` and holds only what is new. With "-" each goes through
//! `Agent::run_agent`, which takes a new thread for every run and sends the whole history. Prints what it saw as one
//! JSON object; exit status 1 and a line on stderr if the server's answers are not what the client accepts.

use ag_ui_client::agent::{AgentError, AgentStateMutation, RunAgentParams};
use ag_ui_client::subscriber::{AgentSubscriber, AgentSubscriberParams};
use ag_ui_client::{Agent, HttpAgent};
use ag_ui_core::JsonValue;
use ag_ui_core::event::Event;
use ag_ui_core::types::ids::{MessageId, RunId, ThreadId, ToolCallId};
use ag_ui_core::types::input::RunAgentInput;
use ag_ui_core::types::message::Message;
use ag_ui_core::types::tool::Tool;
use futures::StreamExt;
use serde_json::json;
use std::error::Error;
use std::sync::{Arc, Mutex};

type Failure = Box<dyn Error>;

#[derive(Default)]
struct Call {
    id: Option<ToolCallId>,
    name: String,
    args: String,
}

/// What one run said.
#[derive(Default)]
struct Turn {
    thread: Option<ThreadId>,
    text: String,
    calls: Vec<Call>,
    finished: bool,
}

impl Turn {
    fn take(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::RunStarted(started) => self.thread = Some(started.thread_id.clone()),
            Event::TextMessageContent(content) => self.text.push_str(&content.delta),
            Event::ToolCallStart(start) => self.calls.push(Call {
                id: Some(start.tool_call_id.clone()),
                name: start.tool_call_name.clone(),
                args: String::new(),
            }),
            Event::ToolCallArgs(args) => {
                let call = self.calls.last_mut().ok_or("arguments without a call")?;
                call.args.push_str(&args.delta);
            }
            Event::RunError(error) => return Err(format!("RUN_ERROR: {}", error.message)),
            Event::RunFinished(_) => self.finished = true,
            _ => {}
        }
        Ok(())
    }

    fn to_json(&self) -> JsonValue {
        let calls: Vec<JsonValue> = self
            .calls
            .iter()
            .map(|call| {
                let id = call.id.as_ref().map(|id| id.to_string());
                json!({"id": id, "name": call.name, "args": call.args})
            })
            .collect();
        let thread = self.thread.as_ref().map(|thread| thread.to_string());
        json!({"threadId": thread, "text": self.text, "calls": calls})
    }
}

/// Keeps what the events of a run_agent() say.
#[derive(Clone, Default)]
struct Watcher(Arc<Mutex<Turn>>);

#[async_trait::async_trait]
impl AgentSubscriber for Watcher {
    async fn on_event(
        &self,
        event: &Event<JsonValue>,
        _params: AgentSubscriberParams<'async_trait, JsonValue, JsonValue>,
    ) -> Result<AgentStateMutation<JsonValue>, AgentError> {
        let mut turn = self.0.lock().expect("no thread panics with the lock");
        turn.take(event)
            .map_err(|message| AgentError::ExecutionError { message })?;
        Ok(AgentStateMutation::default())
    }
}

struct Conversation {
    agent: HttpAgent,
    thread: Option<ThreadId>,
    history: Vec<Message>,
}

impl Conversation {
    fn tools() -> Vec<Tool> {
        vec![Tool::new(
            "change_background".into(),
            "Changes the background colour of the page.".into(),
            json!({"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}),
        )]
    }

    async fn send(&mut self, message: Message) -> Result<Turn, Failure> {
        let turn = match self.thread.clone() {
            Some(thread) => self.send_new(thread, message).await?,
            None => self.send_all(message).await?,
        };
        if !turn.finished {
            return Err("the stream does not end with RUN_FINISHED".into());
        }
        Ok(turn)
    }

    /// Sends the message alone, to a thread that the server keeps.
    async fn send_new(&self, thread: ThreadId, message: Message) -> Result<Turn, Failure> {
        let input = RunAgentInput::new(
            thread,
            RunId::random(),
            json!({}),
            vec![message],
            Self::tools(),
            vec![],
            json!({}),
        );
        let mut turn = Turn::default();
        let mut stream = self.agent.run(&input).await?;
        while let Some(event) = stream.next().await {
            turn.take(&event?)?;
        }
        Ok(turn)
    }

    /// Sends the whole history, as run_agent() means it.
    async fn send_all(&mut self, message: Message) -> Result<Turn, Failure> {
        self.history.push(message);
        let params = RunAgentParams {
            tools: Some(Self::tools()),
            forwarded_props: Some(json!({})),
            messages: self.history.clone(),
            state: json!({}),
            ..Default::default()
        };
        let watcher = Watcher::default();
        let result = self.agent.run_agent(&params, (watcher.clone(),)).await?;
        self.history.extend(result.new_messages);
        let turn = std::mem::take(&mut *watcher.0.lock().expect("no thread panics with the lock"));
        Ok(turn)
    }
}

fn user(content: &str) -> Message {
    Message::User {
        id: MessageId::random(),
        content: content.into(),
        name: None,
    }
}

async fn carry(url: &str, thread: &str, message: &str, next: &str) -> Result<JsonValue, Failure> {
    let thread = if thread == "-" { None } else { Some(thread.parse()?) };
    let agent = HttpAgent::builder().with_url_str(url)?.build()?;
    let mut conversation = Conversation {
        agent,
        thread,
        history: vec![],
    };
    let first = conversation.send(user(message)).await?;
    let call = first.calls.first().ok_or("the first request made no call")?;
    let answer = Message::Tool {
        id: MessageId::random(),
        content: r#"{"status":"ok"}"#.into(),
        tool_call_id: call.id.clone().ok_or("a call without an id")?,
        error: None,
    };
    let second = conversation.send(answer).await?;
    let third = conversation.send(user(next)).await?;
    Ok(json!({"turns": [first.to_json(), second.to_json(), third.to_json()]}))
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, thread, message, next] = arguments.as_slice() else {
        eprintln!("usage: rust-client URL THREAD|- MESSAGE NEXT");
        std::process::exit(2);
    };
    match carry(url, thread, message, next).await {
        Ok(turns) => println!("{turns}"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
