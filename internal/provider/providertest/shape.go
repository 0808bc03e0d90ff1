package providertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
)

// Shape is one vendor's wire form. There are two: Anthropic and OpenAI.
type Shape struct {
	Provider        string // as decisions name it
	Path            string
	RequestIDHeader string
	key             func(http.Header) string
	version         func(http.Header) bool
	read            func(body []byte) (Seen, error)
	complain        func(kind, code, message string) string
	unformed        string // what a model without structured output says
}

// Seen is a request as the fake read it.
type Seen struct {
	Header                 http.Header
	Body                   []byte
	Model, System, User    string
	MaxTokens              int
	ImageType, ImageBase64 string // "" without a picture
	Tools                  []SeenTool
	Form                   *SeenForm // nil where a call is asked for
	Forced                 bool      // any offered tool must be called
	Single                 bool      // parallel calls are forbidden
	Thinking               string    // Anthropic's thinking type; "" where absent
	Store                  *bool     // OpenAI's store; nil where absent
}

// SeenForm is the schema that an answer is asked for in.
type SeenForm struct {
	Name   string // "" for Anthropic, whose API knows none
	Schema json.RawMessage
	Strict *bool // nil where absent
}

// SeenTool is one offered tool.
type SeenTool struct {
	Name, Description string
	Schema            json.RawMessage
	Strict            *bool // nil where absent
}

// Anthropic is the Messages API.
var Anthropic = Shape{
	Provider: "anthropic", Path: "/v1/messages", RequestIDHeader: "Request-Id",
	key: func(h http.Header) string { return h.Get("X-Api-Key") },
	version: func(h http.Header) bool {
		return slices.Contains([]string{"2023-06-01", "2026-10-21"}, h.Get("Anthropic-Version"))
	},
	read:     readMessages,
	unformed: "output_config.format: Extra inputs are not permitted",
	complain: func(kind, code, message string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q,"details":{"error_code":%q}},"request_id":"req_body"}`, kind, message, code)
	},
}

// OpenAI is the Chat Completions API.
var OpenAI = Shape{
	Provider: "openai", Path: "/v1/chat/completions", RequestIDHeader: "X-Request-Id",
	key: func(h http.Header) string {
		key, _ := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
		return key
	},
	version:  func(http.Header) bool { return true },
	read:     readCompletions,
	unformed: "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
	complain: func(kind, code, message string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, message, kind, code)
	},
}

func readMessages(body []byte) (Seen, error) {
	var m struct {
		Model     string `json:"model"`
		MaxTokens int    `json:"max_tokens"`
		System    string `json:"system"`
		Messages  []struct {
			Role    string `json:"role"`
			Content []struct {
				Type   string `json:"type"`
				Text   string `json:"text"`
				Source struct {
					Type      string `json:"type"`
					MediaType string `json:"media_type"`
					Data      string `json:"data"`
				} `json:"source"`
			} `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"input_schema"`
			Strict      *bool           `json:"strict"`
		} `json:"tools"`
		ToolChoice struct {
			Type            string `json:"type"`
			DisableParallel bool   `json:"disable_parallel_tool_use"`
		} `json:"tool_choice"`
		Thinking struct {
			Type string `json:"type"`
		} `json:"thinking"`
		OutputConfig *struct {
			Format struct {
				Type   string          `json:"type"`
				Schema json.RawMessage `json:"schema"`
			} `json:"format"`
		} `json:"output_config"`
	}
	if err := jsonv2.Unmarshal(body, &m, jsonv2.RejectUnknownMembers(true)); err != nil {
		return Seen{}, err
	}
	if len(m.Messages) != 1 || m.Messages[0].Role != "user" || m.MaxTokens < 1 {
		return Seen{}, errors.New("messages: want one of the user, and max_tokens")
	}
	s := Seen{Model: m.Model, System: m.System, MaxTokens: m.MaxTokens, Forced: m.ToolChoice.Type == "any", Single: m.ToolChoice.DisableParallel, Thinking: m.Thinking.Type}
	for _, b := range m.Messages[0].Content {
		s.User += b.Text
		if b.Type == "image" {
			s.ImageType, s.ImageBase64 = b.Source.MediaType, b.Source.Data
		}
	}
	for _, t := range m.Tools {
		s.Tools = append(s.Tools, SeenTool{t.Name, t.Description, t.InputSchema, t.Strict})
	}
	if m.OutputConfig != nil {
		s.Form = &SeenForm{Schema: m.OutputConfig.Format.Schema}
		if m.OutputConfig.Format.Type != "json_schema" {
			return s, errors.New("output_config.format: want a json_schema")
		}
	}
	return s, s.check()
}

func readCompletions(body []byte) (Seen, error) {
	var m struct {
		Model               string `json:"model"`
		MaxCompletionTokens int    `json:"max_completion_tokens"`
		Messages            []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Type     string `json:"type"`
			Function struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Parameters  json.RawMessage `json:"parameters"`
				Strict      *bool           `json:"strict"`
			} `json:"function"`
		} `json:"tools"`
		ToolChoice        string `json:"tool_choice"`
		ParallelToolCalls *bool  `json:"parallel_tool_calls"`
		Store             *bool  `json:"store"`
		ResponseFormat    *struct {
			Type       string `json:"type"`
			JSONSchema struct {
				Name   string          `json:"name"`
				Schema json.RawMessage `json:"schema"`
				Strict *bool           `json:"strict"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := jsonv2.Unmarshal(body, &m, jsonv2.RejectUnknownMembers(true)); err != nil {
		return Seen{}, err
	}
	s := Seen{Model: m.Model, MaxTokens: m.MaxCompletionTokens, Forced: m.ToolChoice == "required",
		Single: m.ParallelToolCalls != nil && !*m.ParallelToolCalls, Store: m.Store}
	for _, t := range m.Messages {
		if err := s.addTurn(t.Role, t.Content); err != nil {
			return Seen{}, err
		}
	}
	for _, t := range m.Tools {
		if t.Type != "function" {
			return Seen{}, errors.New("tools: want functions")
		}
		s.Tools = append(s.Tools, SeenTool{t.Function.Name, t.Function.Description, t.Function.Parameters, t.Function.Strict})
	}
	if f := m.ResponseFormat; f != nil {
		s.Form = &SeenForm{f.JSONSchema.Name, f.JSONSchema.Schema, f.JSONSchema.Strict}
		if f.Type != "json_schema" || !portableName.MatchString(f.JSONSchema.Name) {
			return s, errors.New("response_format: want a json_schema with a name")
		}
	}
	return s, s.check()
}

// addTurn reads a message whose content is a string or a list of parts.
func (s *Seen) addTurn(role string, content json.RawMessage) error {
	if role == "system" {
		return jsonv2.Unmarshal(content, &s.System)
	}
	if role != "user" {
		return fmt.Errorf("messages: unknown role %q", role)
	}
	if content[0] == '"' {
		return jsonv2.Unmarshal(content, &s.User)
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := jsonv2.Unmarshal(content, &parts, jsonv2.RejectUnknownMembers(true)); err != nil {
		return err
	}
	for _, p := range parts {
		s.User += p.Text
		if m := dataURL.FindStringSubmatch(p.ImageURL.URL); m != nil {
			s.ImageType, s.ImageBase64 = m[1], m[2]
		}
	}
	return nil
}

var (
	dataURL      = regexp.MustCompile(`^data:([a-z/]+);base64,(.*)$`)
	portableName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

// check refuses what both vendors do.
func (s Seen) check() error {
	if (len(s.Tools) == 0) == (s.Form == nil) || s.User == "" || s.Model == "" {
		return errors.New("model, messages, and either tools or a form are required")
	}
	if s.Form != nil && !isObjectSchema(s.Form.Schema) {
		return errors.New("the form's schema is not of an object")
	}
	for i, t := range s.Tools {
		if !isObjectSchema(t.Schema) {
			return fmt.Errorf("tools[%d]: object schema missing properties", i)
		}
		if !portableName.MatchString(t.Name) {
			return fmt.Errorf("tools[%d].name: string should match pattern", i)
		}
	}
	if s.ImageType != "" && !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, s.ImageType) {
		return errors.New("image: unsupported media type")
	}
	return nil
}

func isObjectSchema(raw json.RawMessage) bool {
	var schema struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	return jsonv2.Unmarshal(raw, &schema) == nil && schema.Type == "object" && schema.Properties != nil
}
