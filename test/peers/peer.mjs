// Makes the vendors' own libraries do what our wire clients do: ask for one
// forced tool call, or for an answer in a form, and read a reply. It reads jobs from stdin and writes, for
// each, the request that the library sent and what it read of the reply.
//
// job    {vendor, request: {model, maxTokens, system, user, image?, tools, form?}, portable, reply}
// result {method, path, headers, body, calls, texts, stop, usage} or {..., error}
import http from "node:http";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const kept = ["content-type", "anthropic-version"];

// One server stands for both vendors: it keeps what it is sent and answers
// with the reply of the job at hand.
let sent, reply;
const server = http.createServer((req, res) => {
  const chunks = [];
  req.on("data", (chunk) => chunks.push(chunk));
  req.on("end", () => {
    const headers = Object.fromEntries(kept.filter((k) => k in req.headers).map((k) => [k, req.headers[k]]));
    sent = { method: req.method, path: req.url, headers, body: JSON.parse(Buffer.concat(chunks).toString("utf8")) };
    res.writeHead(200, { "content-type": "application/json" });
    res.end(reply);
  });
});

const count = (n) => (Number.isSafeInteger(n) && n >= 0 ? n : null);

const anthropicCall = (request) => ({
  tools: (request.tools ?? []).map((t) => ({
    name: t.name,
    description: t.description || undefined,
    input_schema: t.schema,
    strict: t.strict || undefined,
  })),
  tool_choice: { type: "any", disable_parallel_tool_use: true },
  thinking: { type: "disabled" },
});

async function anthropic(baseURL, request) {
  const client = new Anthropic({ apiKey: "key-of-the-peer", baseURL, maxRetries: 0 });
  const content = [{ type: "text", text: request.user }];
  if (request.image) {
    content.unshift({ type: "image", source: { type: "base64", media_type: request.image.type, data: request.image.base64 } });
  }
  const message = await client.messages.create({
    model: request.model,
    max_tokens: request.maxTokens,
    system: request.system || undefined,
    messages: [{ role: "user", content }],
    ...(request.form ? { output_config: { format: { type: "json_schema", schema: request.form.schema } } } : anthropicCall(request)),
  });
  const u = message.usage ?? {};
  const [input, write, read] = [u.input_tokens, u.cache_creation_input_tokens, u.cache_read_input_tokens].map(count);
  return {
    calls: message.content.filter((b) => b.type === "tool_use").map((b) => ({ name: b.name, arguments: b.input })),
    texts: message.content.filter((b) => b.type === "text").map((b) => b.text),
    stop: message.stop_reason,
    usage: {
      input_tokens: input === null ? null : input + (write ?? 0) + (read ?? 0),
      cached_input_tokens: read,
      cache_write_tokens: write,
      output_tokens: count(u.output_tokens),
      reasoning_tokens: count(u.output_tokens_details?.thinking_tokens),
    },
  };
}

const openaiCall = (request, portable) => ({
  tools: (request.tools ?? []).map((t) => ({
    type: "function",
    function: {
      name: t.name,
      description: t.description || undefined,
      parameters: t.schema,
      strict: portable ? undefined : t.strict,
    },
  })),
  tool_choice: "required",
  parallel_tool_calls: false,
});

const openaiForm = (request, portable) => ({
  response_format: {
    type: "json_schema",
    json_schema: { name: request.form.name, schema: request.form.schema, strict: portable ? undefined : request.form.strict },
  },
});

async function openai(baseURL, request, portable) {
  const client = new OpenAI({ apiKey: "key-of-the-peer", baseURL: baseURL + "/v1", maxRetries: 0 });
  const picture = request.image && { type: "image_url", image_url: { url: `data:${request.image.type};base64,${request.image.base64}` } };
  const messages = [{ role: "user", content: picture ? [{ type: "text", text: request.user }, picture] : request.user }];
  if (request.system) {
    messages.unshift({ role: "system", content: request.system });
  }
  const completion = await client.chat.completions.create({
    model: request.model,
    max_completion_tokens: request.maxTokens,
    messages,
    ...(request.form ? openaiForm(request, portable) : openaiCall(request, portable)),
    store: portable ? undefined : false,
  });
  const u = completion.usage ?? {};
  const choices = completion.choices;
  return {
    calls: choices.flatMap((c) => c.message.tool_calls ?? []).map((c) => ({ name: c.function?.name ?? "", arguments: c.function?.arguments ?? "" })),
    texts: choices.map((c) => c.message.content).filter((text) => text),
    stop: choices.some((c) => c.message.refusal) ? "refusal" : (choices[0]?.finish_reason ?? ""),
    usage: {
      input_tokens: count(u.prompt_tokens),
      cached_input_tokens: count(u.prompt_tokens_details?.cached_tokens),
      cache_write_tokens: count(u.prompt_tokens_details?.cache_write_tokens),
      output_tokens: count(u.completion_tokens),
      reasoning_tokens: count(u.completion_tokens_details?.reasoning_tokens),
    },
  };
}

let text = "";
for await (const chunk of process.stdin.setEncoding("utf8")) {
  text += chunk;
}
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const url = `http://127.0.0.1:${server.address().port}`;
const results = [];
for (const job of JSON.parse(text)) {
  sent = undefined;
  reply = job.reply;
  let read;
  try {
    read = await { anthropic, openai }[job.vendor](url, job.request, job.portable);
  } catch (err) {
    read = { error: String(err) };
  }
  results.push({ ...sent, ...read });
}
server.closeAllConnections();
server.close();
process.stdout.write(JSON.stringify(results));
