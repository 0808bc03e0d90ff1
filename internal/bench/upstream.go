package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// upstreamDelay is how long the mock model thinks.
const upstreamDelay = time.Millisecond

// startUpstream serves Chat Completions on loopback: every request gets one
// "wait" call after upstreamDelay. It stands for a provider that is never the
// bottleneck.
func startUpstream() (url string, stop func(), err error) {
	reply, err := json.Marshal(map[string]any{
		"id": "chatcmpl-bench", "object": "chat.completion", "created": 1, "model": "bench-model",
		"choices": []any{map[string]any{"index": 0, "finish_reason": "tool_calls", "message": map[string]any{
			"role": "assistant", "content": nil,
			"tool_calls": []any{map[string]any{"id": "call_1", "type": "function", "function": map[string]any{"name": "wait", "arguments": `{"ms":100}`}}},
		}}},
		"usage": map[string]any{"prompt_tokens": 900, "completion_tokens": 12, "total_tokens": 912},
	})
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		time.Sleep(upstreamDelay)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(reply)))
		w.Write(reply)
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	go s.Serve(l)
	return "http://" + l.Addr().String(), func() { s.Close() }, nil
}
