package providertest

import (
	"fmt"

	"interlock/internal/llm"
)

// Recording is one reply with status 200 in a vendor's wire form, and what we
// must make of it.
type Recording struct {
	Name string
	Body string
	Want Want
}

// Want is the outcome of a decision: a call, or the reason for none.
type Want struct {
	Tool, Arguments string
	Reason          llm.Reason
	Usage           llm.Usage
	Model           string // as the reply names it, else as asked
}

// Model is what the recordings say answered.
const Model = "served-model-2026"

// Recordings returns the replies of the shape's vendor.
func Recordings(s Shape) []Recording {
	var out []Recording
	for _, c := range replies {
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

// message is a reply of the Messages API around its content blocks. An empty
// usage is left out.
func message(content, stop, usage string) string {
	if usage != "" {
		usage = `,"usage":` + usage
	}
	return fmt.Sprintf(`{"id":"msg_01","type":"message","role":"assistant","model":%q,"content":[%s],"stop_reason":%q,"stop_sequence":null%s}`, Model, content, stop, usage)
}

// completion is a reply of the Chat Completions API around a message without
// text.
func completion(message, finish, usage string) string {
	return chat(`"content":null,`+message, finish, usage)
}

// chat is the same around a whole message.
func chat(message, finish, usage string) string {
	if usage != "" {
		usage = `,"usage":` + usage
	}
	return fmt.Sprintf(`{"id":"chatcmpl-01","object":"chat.completion","created":1796083200,"model":%q,"choices":[{"index":0,"message":{"role":"assistant",%s},"logprobs":null,"finish_reason":%q}]%s}`, Model, message, finish, usage)
}

// One vendor counts the cached tokens beside its input, the other within.
const (
	anthropicUsage = `{"input_tokens":300,"cache_creation_input_tokens":10,"cache_read_input_tokens":512,"output_tokens":31,"output_tokens_details":{"thinking_tokens":4},"service_tier":"standard"}`
	openaiUsage    = `{"prompt_tokens":822,"completion_tokens":31,"total_tokens":853,"prompt_tokens_details":{"cached_tokens":512,"cache_write_tokens":10},"completion_tokens_details":{"reasoning_tokens":4}}`
)

var fullUsage = llm.Usage{Input: llm.Known(822), CachedInput: llm.Known(512), CacheWrite: llm.Known(10), Output: llm.Known(31), Reasoning: llm.Known(4)}

func use(name, input string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":"toolu_01","name":%q,"input":%s}`, name, input)
}

func call(name, arguments string) string {
	return fmt.Sprintf(`{"id":"call_01","type":"function","function":{"name":%q,"arguments":%q}}`, name, arguments)
}

// usageOnly is a good call with the given usage.
func usageOnly(name, anthropic, openai string, want llm.Usage) reply {
	return reply{name, message(use("tap", `{"x":3}`), "tool_use", anthropic),
		completion(`"tool_calls":[`+call("tap", `{"x":3}`)+`]`, "tool_calls", openai),
		Want{Tool: "tap", Arguments: `{"x":3}`, Usage: want}}
}

// outcome is a reply with full usage.
func outcome(name, blocks, stop, toolCalls, finish string, want Want) reply {
	r := reply{name: name, want: want}
	r.want.Usage = fullUsage
	if stop != "" {
		r.anthropic = message(blocks, stop, anthropicUsage)
	}
	if finish != "" {
		r.openai = completion(toolCalls, finish, openaiUsage)
	}
	return r
}

type reply struct {
	name, anthropic, openai string
	want                    Want
}

const (
	noCalls  = `"tool_calls":[]`
	textOnly = `{"type":"text","text":"I would tap the button."}`
)

// R-PLAN-3, R-PLAN-7
var replies = []reply{
	outcome("one call", use("tap", `{"x":3}`), "tool_use", `"tool_calls":[`+call("tap", `{"x":3}`)+`]`, "tool_calls", Want{Tool: "tap", Arguments: `{"x":3}`}),
	outcome("a call after text", textOnly+","+use("tap", `{"x":3}`), "tool_use", `"refusal":null,"tool_calls":[`+call("tap", ` {"x": 3}`)+`]`, "tool_calls", Want{Tool: "tap", Arguments: `{"x":3}`}),
	outcome("a call although the turn ended by itself [vercel/ai 12218]", use("tap", `{"x":3}`), "end_turn", `"tool_calls":[`+call("tap", `{"x":3}`)+`]`, "stop", Want{Tool: "tap", Arguments: `{"x":3}`}),
	outcome("a stop reason nobody knows yet", use("tap", `{"x":3}`), "brand_new", `"tool_calls":[`+call("tap", `{"x":3}`)+`]`, "brand_new", Want{Tool: "tap", Arguments: `{"x":3}`}),
	outcome("no call", textOnly, "end_turn", noCalls, "stop", Want{Reason: llm.NoCall}),
	outcome("no content at all", "", "end_turn", `"tool_calls":null`, "stop", Want{Reason: llm.NoCall}),
	outcome("a block that is no call of ours", `{"type":"server_tool_use","id":"srvtoolu_1","name":"tap","input":{"x":3}}`, "end_turn", "", "", Want{Reason: llm.NoCall}),
	outcome("a custom call with an offered name", "", "", `"tool_calls":[{"id":"call_01","type":"custom","custom":{"name":"tap","input":"{\"x\":3}"}}]`, "tool_calls", Want{Reason: llm.UnknownTool}),
	outcome("two calls [instructor 2477, llama.cpp]", use("tap", `{"x":3}`)+","+use("tap", `{"x":3}`), "tool_use", `"tool_calls":[`+call("tap", `{"x":3}`)+`,`+call("tap", `{"x":3}`)+`]`, "tool_calls", Want{Reason: llm.ManyCalls}),
	outcome("an unknown name", use("rm", `{}`), "tool_use", `"tool_calls":[`+call("rm", `{}`)+`]`, "tool_calls", Want{Reason: llm.UnknownTool}),
	outcome("a name in another case", use("Tap", `{"x":3}`), "tool_use", `"tool_calls":[`+call("Tap", `{"x":3}`)+`]`, "tool_calls", Want{Reason: llm.UnknownTool}),

	outcome("empty arguments of a tool without any [litellm 5063]", use("wait", `""`), "tool_use", `"tool_calls":[`+call("wait", "")+`]`, "tool_calls", Want{Tool: "wait", Arguments: `{}`}),
	outcome("empty arguments of a turn that didn't end in a call", use("wait", `""`), "end_turn", `"tool_calls":[`+call("wait", "")+`]`, "stop", Want{Reason: llm.InvalidArguments}),
	outcome("empty arguments where some are required [Portkey 1103]", use("tap", `""`), "tool_use", `"tool_calls":[`+call("tap", "")+`]`, "tool_calls", Want{Reason: llm.InvalidArguments}),
	outcome("empty arguments because the turn was cut [litellm 15322]", use("wait", `{}`), "max_tokens", `"tool_calls":[`+call("wait", "")+`]`, "length", Want{Reason: llm.Truncated}),
	outcome("an empty object where arguments are required", use("tap", `{}`), "tool_use", `"tool_calls":[`+call("tap", `{}`)+`]`, "tool_calls", Want{Reason: llm.InvalidArguments}),
	outcome("an array", use("tap", `[3]`), "tool_use", `"tool_calls":[`+call("tap", `[3]`)+`]`, "tool_calls", Want{Reason: llm.InvalidArguments}),
	outcome("a string that is no JSON", use("tap", `"notobject"`), "tool_use", `"tool_calls":[`+call("tap", "notobject")+`]`, "tool_calls", Want{Reason: llm.InvalidArguments}),
	outcome("a string that holds an object", use("tap", `"{\"x\":3}"`), "tool_use", `"tool_calls":[`+call("tap", `"{\"x\":3}"`)+`]`, "tool_calls", Want{Reason: llm.InvalidArguments}),
	outcome("null", use("wait", `null`), "tool_use", `"tool_calls":[`+call("wait", `null`)+`]`, "tool_calls", Want{Reason: llm.InvalidArguments}),
	outcome("truncated arguments [openai-agents 2283]", "", "", `"tool_calls":[`+call("tap", `{"x": 3`)+`]`, "tool_calls", Want{Reason: llm.InvalidArguments}),
	outcome("arguments with trailing data", "", "", `"tool_calls":[`+call("tap", `{"x":3}{"x":4}`)+`]`, "tool_calls", Want{Reason: llm.InvalidArguments}),
	outcome("arguments with a name twice", "", "", `"tool_calls":[`+call("tap", `{"x":3,"x":4}`)+`]`, "tool_calls", Want{Reason: llm.InvalidArguments}),
	outcome("arguments as an object, as some servers write them", "", "", `"tool_calls":[{"function":{"name":"tap","arguments":{"x":3}}}]`, "tool_calls", Want{Tool: "tap", Arguments: `{"x":3}`}),
	outcome("arguments that break the schema", use("tap", `{"x":"three"}`), "tool_use", `"tool_calls":[`+call("tap", `{"x":"three"}`)+`]`, "tool_calls", Want{Reason: llm.InvalidArguments}),
	outcome("arguments that nobody declared", use("tap", `{"x":3,"force":true}`), "tool_use", `"tool_calls":[`+call("tap", `{"x":3,"force":true}`)+`]`, "tool_calls", Want{Reason: llm.InvalidArguments}),

	outcome("a refused turn with a call [laravel/ai 881, cursor-byok 423]", use("tap", `{"x":3}`), "refusal", `"refusal":"I can't help with that.","tool_calls":[`+call("tap", `{"x":3}`)+`]`, "tool_calls", Want{Reason: llm.Refused}),
	outcome("a refusal that ends as an ordinary stop [litellm 40857]", "", "", `"refusal":"I can't help with that."`, "stop", Want{Reason: llm.Refused}),
	outcome("a filtered turn with a call", "", "", `"tool_calls":[`+call("tap", `{"x":3}`)+`]`, "content_filter", Want{Reason: llm.Refused}),
	outcome("a turn cut by its length, with a whole call", use("tap", `{"x":3}`), "max_tokens", `"tool_calls":[`+call("tap", `{"x":3}`)+`]`, "length", Want{Reason: llm.Truncated}),
	outcome("a full context window", use("tap", `{"x":3}`), "model_context_window_exceeded", "", "", Want{Reason: llm.Truncated}),
	outcome("a paused turn", use("tap", `{"x":3}`), "pause_turn", "", "", Want{Reason: llm.NoCall}),
	{name: "two choices with a call each", openai: `{"model":"` + Model + `","choices":[{"message":{"tool_calls":[` + call("tap", `{"x":3}`) + `]},"finish_reason":"tool_calls"},{"message":{"tool_calls":[` + call("tap", `{"x":4}`) + `]},"finish_reason":"tool_calls"}]}`, want: Want{Reason: llm.ManyCalls}},
	{name: "no choice", openai: `{"model":"` + Model + `","choices":[]}`, want: Want{Reason: llm.NoCall}},

	usageOnly("cached and reasoning counts [litellm 9812]", anthropicUsage, openaiUsage, fullUsage),
	usageOnly("no usage", "", "", llm.Usage{}),
	usageOnly("usage null [openlit 1543]", "null", "null", llm.Usage{}),
	usageOnly("usage of zero [openlit 1543]",
		`{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0,"output_tokens_details":{"thinking_tokens":0}}`,
		`{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0,"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}`,
		llm.Usage{Input: llm.Known(0), CachedInput: llm.Known(0), CacheWrite: llm.Known(0), Output: llm.Known(0), Reasoning: llm.Known(0)}),
	usageOnly("only the totals", `{"input_tokens":7,"output_tokens":2,"cache_read_input_tokens":null}`, `{"prompt_tokens":7,"completion_tokens":2}`, llm.Usage{Input: llm.Known(7), Output: llm.Known(2)}),
	usageOnly("half a usage", `{"output_tokens":2}`, `{"completion_tokens":2}`, llm.Usage{Output: llm.Known(2)}),
	usageOnly("counts that can't be", `{"input_tokens":-1,"output_tokens":1e300}`, `{"prompt_tokens":"7","completion_tokens":1.5}`, llm.Usage{}),
	{name: "reasoning counted beside the output, by its total [hindsight 3851]", openai: completion(`"tool_calls":[`+call("tap", `{"x":3}`)+`]`, "tool_calls", `{"prompt_tokens":100,"completion_tokens":50,"total_tokens":190,"completion_tokens_details":{"reasoning_tokens":40}}`),
		want: Want{Tool: "tap", Arguments: `{"x":3}`, Usage: llm.Usage{Input: llm.Known(100), Output: llm.Known(90), Reasoning: llm.Known(40)}}},
	{name: "reasoning counted beside an output of zero [hindsight 3851]", openai: completion(`"tool_calls":[`+call("tap", `{"x":3}`)+`]`, "tool_calls", `{"prompt_tokens":100,"completion_tokens":0,"completion_tokens_details":{"reasoning_tokens":40}}`),
		want: Want{Tool: "tap", Arguments: `{"x":3}`, Usage: llm.Usage{Input: llm.Known(100), Output: llm.Known(40), Reasoning: llm.Known(40)}}},
}
