package providertest

import (
	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/llm"
)

// Answers returns the replies of the shape's vendor to a request for an answer
// in the form of a schema. Their Want names the form as the tool.
func Answers(s Shape) []Recording {
	var out []Recording
	for _, c := range answers {
		body := c.openai
		if s.Provider == Anthropic.Provider {
			body = c.anthropic
		}
		if body == "" {
			continue // the vendor has no such reply
		}
		want := c.want
		want.Model = Model
		out = append(out, Recording{c.name, body, want})
	}
	return out
}

// Answer is a reply of the shape's vendor that ends in order with the text, and
// tells what it used.
func Answer(s Shape, written string) Reply {
	if s.Provider == Anthropic.Provider {
		return Reply{Body: message(text(written), "end_turn", anthropicUsage)}
	}
	return Reply{Body: chat(content(written), "stop", openaiUsage)}
}

func text(s string) string { return `{"type":"text","text":` + quoted(s) + `}` }

func content(s string) string { return `"content":` + quoted(s) }

func quoted(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic(err) // the suite's texts are UTF-8
	}
	return string(b)
}

// written is a reply that ends in order with the text.
func written(name, s string, want Want) reply {
	return answered(name, text(s), "end_turn", content(s), "stop", want)
}

// answered is a reply with full usage; see outcome.
func answered(name, blocks, stop, said, finish string, want Want) reply {
	r := reply{name: name, want: want}
	r.want.Usage = fullUsage
	if stop != "" {
		r.anthropic = message(blocks, stop, anthropicUsage)
	}
	if finish != "" {
		r.openai = chat(said, finish, openaiUsage)
	}
	return r
}

// counted is a good answer with the given usage.
func counted(name, anthropic, openai string, want llm.Usage) reply {
	return reply{name, message(text(three), "end_turn", anthropic), chat(content(three), "stop", openai),
		Want{Tool: formName, Arguments: three, Usage: want}}
}

// The form that the answers are in, and a good one.
const (
	formName = "tap"
	three    = `{"x":3}`
)

// R-BRIDGE-7
var answers = []reply{
	written("one answer", three, Want{Tool: formName, Arguments: three}),
	written("an answer with spaces", " {\n \"x\" : 3\n}\n", Want{Tool: formName, Arguments: three}),
	answered("an answer after thinking", `{"type":"thinking","thinking":"Three.","signature":"c2ln"},`+text(three), "end_turn", `"refusal":null,"reasoning_content":"Three.",`+content(three), "stop", Want{Tool: formName, Arguments: three}),
	answered("a stop reason nobody knows yet", text(three), "brand_new", content(three), "brand_new", Want{Tool: formName, Arguments: three}),
	answered("no answer at all", "", "end_turn", `"content":null`, "stop", Want{Reason: llm.NoCall}),
	answered("only thinking", `{"type":"thinking","thinking":"Three.","signature":"c2ln"}`, "end_turn", `"reasoning_content":"Three."`, "stop", Want{Reason: llm.NoCall}),
	answered("an empty text", text(""), "end_turn", "", "", Want{Reason: llm.InvalidArguments}),
	answered("an empty content", "", "", content(""), "stop", Want{Reason: llm.NoCall}),
	answered("a content of parts", "", "", `"content":[{"type":"text","text":"{\"x\":3}"}]`, "stop", Want{Reason: llm.InvalidArguments}),
	answered("two texts", text(three)+","+text(three), "end_turn", "", "", Want{Reason: llm.ManyCalls}),
	{name: "two choices", openai: `{"model":"` + Model + `","choices":[{"message":{` + content(three) + `},"finish_reason":"stop"},{"message":{` + content(three) + `},"finish_reason":"stop"}]}`, want: Want{Reason: llm.ManyCalls}},
	{name: "no choice", openai: `{"model":"` + Model + `","choices":[]}`, want: Want{Reason: llm.NoCall}},
	answered("a call of a tool that nobody offered", use("rm", three), "tool_use", `"content":null,"tool_calls":[`+call("rm", three)+`]`, "tool_calls", Want{Reason: llm.UnknownTool}),
	answered("an answer and a call", text(three)+","+use("rm", three), "tool_use", content(three)+`,"tool_calls":[`+call("rm", three)+`]`, "tool_calls", Want{Reason: llm.ManyCalls}),

	written("words", "I would tap the third button.", Want{Reason: llm.InvalidArguments}),
	written("an answer within a fence of Markdown", "```json\n{\"x\":3}\n```", Want{Reason: llm.InvalidArguments}),
	written("words before the answer", "Here you are: "+three, Want{Reason: llm.InvalidArguments}),
	written("two objects", three+three, Want{Reason: llm.InvalidArguments}),
	written("an array", "[3]", Want{Reason: llm.InvalidArguments}),
	written("null", "null", Want{Reason: llm.InvalidArguments}),
	written("a string that holds an object", `"{\"x\":3}"`, Want{Reason: llm.InvalidArguments}),
	written("a cut object although the turn ended in order", `{"x": 3`, Want{Reason: llm.InvalidArguments}),
	written("a name twice", `{"x":3,"x":4}`, Want{Reason: llm.InvalidArguments}),
	written("a value of another type", `{"x":"three"}`, Want{Reason: llm.InvalidArguments}),
	written("a member that nobody declared", `{"x":3,"force":true}`, Want{Reason: llm.InvalidArguments}),
	written("a missing member", `{}`, Want{Reason: llm.InvalidArguments}),

	answered("a refused turn with an answer", text(three), "refusal", `"refusal":"I can't help with that.",`+content(three), "stop", Want{Reason: llm.Refused}),
	answered("a refusal in words", text("I can't help with that."), "refusal", `"content":null,"refusal":"I can't help with that."`, "stop", Want{Reason: llm.Refused}),
	answered("a filtered turn with an answer", "", "", content(three), "content_filter", Want{Reason: llm.Refused}),
	answered("a turn cut by its length, with a whole answer", text(three), "max_tokens", content(three), "length", Want{Reason: llm.Truncated}),
	answered("a turn cut by its length", text(`{"x": `), "max_tokens", content(`{"x": `), "length", Want{Reason: llm.Truncated}),
	answered("a full context window", text(three), "model_context_window_exceeded", "", "", Want{Reason: llm.Truncated}),
	answered("a paused turn", text(three), "pause_turn", "", "", Want{Reason: llm.NoCall}),

	counted("no usage", "", "", llm.Usage{}),
	counted("usage null", "null", "null", llm.Usage{}),
	counted("only the totals", `{"input_tokens":7,"output_tokens":0}`, `{"prompt_tokens":7,"completion_tokens":0}`, llm.Usage{Input: llm.Known(7), Output: llm.Known(0)}),
}
