package planner

import (
	"encoding/json"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"interlock/internal/device"
	"interlock/internal/policy"
	"interlock/internal/tool"
)

// The tools: a closed set, one of which a proposal names.
const (
	Tap          = "tap"
	LongPress    = "long_press"
	Swipe        = "swipe"
	TypeText     = "type_text"
	Key          = "key"
	HideKeyboard = "hide_keyboard"
	OpenApp      = "open_app"
	OpenURL      = "open_url"
	Wait         = "wait"
	Finish       = "finish"
	Fail         = "fail"
)

// Arguments are those of every tool together; each tool uses some. Whether
// values make sense on a screen is for the runner to say.
type Arguments struct {
	Ref       string `json:"ref"`
	X         *int   `json:"x"`
	Y         *int   `json:"y"`
	MS        int    `json:"ms"`
	Direction string `json:"direction"`
	Text      string `json:"text"`
	Clear     bool   `json:"clear"`
	Submit    bool   `json:"submit"`
	Key       string `json:"key"`
	Package   string `json:"package"`
	URL       string `json:"url"`
	Status    string `json:"status"`
	Summary   string `json:"summary"`
	Evidence  string `json:"evidence"`
	Reason    string `json:"reason"`
}

// The two ways to finish.
const (
	StatusSuccess    = "success"
	StatusInfeasible = "infeasible"
)

// ReadArguments decodes the arguments of a call strictly.
func ReadArguments(c tool.Call) (Arguments, error) {
	var a Arguments
	if err := jsonv2.Unmarshal(c.Arguments, &a, jsonv2.RejectUnknownMembers(true)); err != nil {
		return Arguments{}, fmt.Errorf("%w of %s: not as its schema says", tool.ErrArguments, c.Tool)
	}
	return a, nil
}

// RiskOf rates a tool for the policy; "" for a tool that is not one of ours.
func RiskOf(name string) policy.Risk { return risks[name] }

var risks = map[string]policy.Risk{
	Swipe: policy.Low, Key: policy.Low, HideKeyboard: policy.Low, OpenApp: policy.Low,
	Wait: policy.Low, Finish: policy.Low, Fail: policy.Low,
	Tap: policy.Medium, LongPress: policy.Medium, TypeText: policy.Medium,
	OpenURL: policy.High,
}

// Tools returns the closed set. It is immutable and shared.
func Tools() *tool.Set { return tools }

// Schemas hold types and choices only: a value out of range is turned down
// with a word to the model, while a broken schema ends the attempt.
const (
	refField = `"ref":{"type":"string","description":"the ref of an element on the screen, such as e5"}`
	xyFields = `"x":{"type":"integer","description":"only where no ref fits"},"y":{"type":"integer","description":"only where no ref fits"}`
)

var tools = mustSet(
	spec(Tap, "Tap an element by its ref, or a point by x and y.", refField+","+xyFields),
	spec(LongPress, "Press an element or a point for a while.", refField+","+xyFields+`,"ms":{"type":"integer","description":"300 to 5000; 800 if left out"}`),
	spec(Swipe, "Move a finger across the screen or across a scrollable element. Swiping up shows what is further down.",
		refField+`,"direction":{"type":"string","enum":["up","down","left","right"]}`, "direction"),
	spec(TypeText, "Type text into a field by its ref, or into the focused field.",
		refField+`,"text":{"type":"string"},"clear":{"type":"boolean","description":"empty the field first"},"submit":{"type":"boolean","description":"press enter afterwards"}`, "text"),
	spec(Key, "Press a key.", `"key":{"type":"string","enum":["back","home","enter","delete"]}`, "key"),
	spec(HideKeyboard, "Put the keyboard away if it covers something.", ``),
	spec(OpenApp, "Open an app by its package name.", `"package":{"type":"string"}`, "package"),
	spec(OpenURL, "Open an http or https address.", `"url":{"type":"string"}`, "url"),
	spec(Wait, "Wait for the screen to change.", `"ms":{"type":"integer","description":"100 to 10000"}`, "ms"),
	spec(Finish, "End the task. With status success, give as evidence the ref of an element, or a text, that is on the screen now and shows that the goal is reached. With status infeasible, say in summary why the goal can't be reached.",
		`"status":{"type":"string","enum":["success","infeasible"]},"summary":{"type":"string"},"evidence":{"type":"string"}`, "status", "summary"),
	spec(Fail, "Give up because you can't go on.", `"reason":{"type":"string"}`, "reason"),
)

func spec(name, description, properties string, required ...string) tool.Spec {
	req, _ := json.Marshal(append([]string{}, required...))
	return tool.Spec{Name: name, Description: description, Parameters: json.RawMessage(
		fmt.Sprintf(`{"type":"object","properties":{%s},"required":%s,"additionalProperties":false}`, properties, req))}
}

// mustSet panics where the constant specs above are broken.
func mustSet(specs ...tool.Spec) *tool.Set {
	s, err := tool.NewSet(specs)
	if err != nil {
		panic(err)
	}
	return s
}

// maxToldRunes bounds each argument that Describe repeats.
const maxToldRunes = 60

// Describe tells a call in a few words for the history: "tap e5".
func Describe(c tool.Call) string {
	a, err := ReadArguments(c)
	if err != nil {
		return c.Tool
	}
	words := []string{c.Tool}
	for _, w := range []string{a.Direction, a.Key, a.Package, a.Ref, a.Status} {
		if w != "" {
			words = append(words, device.Clean(w, maxToldRunes))
		}
	}
	if a.X != nil && a.Y != nil {
		words = append(words, fmt.Sprintf("%d,%d", *a.X, *a.Y))
	}
	for _, w := range []string{a.Text, a.URL, a.Reason, a.Evidence} {
		if w != "" {
			words = append(words, device.Quote(device.Clean(w, maxToldRunes)))
		}
	}
	if a.MS != 0 {
		words = append(words, fmt.Sprintf("%d ms", a.MS))
	}
	return strings.Join(words, " ")
}
