// Describes what the visible page shows, as JSON text: what has an area on the
// screen, is not hidden and not covered, in the order of the document, with its
// bounds in CSS pixels. It looks into open shadow trees and into frames of the
// same origin. It reads no password. Arguments: the most elements, the most
// characters of a text.
const most = arguments[0], long = arguments[1];
const found = [];
const width = Math.round(window.innerWidth), height = Math.round(window.innerHeight);
const cut = s => Array.from((s || "").replace(/\s+/g, " ").trim()).slice(0, long + 1).join("");

const roles = {A: "link", BUTTON: "button", SELECT: "list", TEXTAREA: "field", IMG: "image", CANVAS: "canvas", VIDEO: "video", IFRAME: "frame",
  SUMMARY: "button", OPTION: "option", LABEL: "label", H1: "heading", H2: "heading", H3: "heading", H4: "heading", H5: "heading", H6: "heading"};
const typed = new Set(["text", "search", "email", "url", "tel", "number", "password", "date", "time", "datetime-local", "month", "week", ""]);
const spoken = {textbox: "field", searchbox: "field", combobox: "field", menuitem: "button", tab: "button", listbox: "list", img: "image"};

function roleOf(e) {
  const said = (e.getAttribute("role") || "").trim().toLowerCase().split(/\s/)[0];
  if (said) return spoken[said] || said;
  if (e.tagName === "INPUT") {
    const t = (e.getAttribute("type") || "").toLowerCase();
    if (t === "checkbox" || t === "radio") return t;
    if (t === "range") return "slider";
    return typed.has(t) ? "field" : "button";
  }
  if (e.isContentEditable) return "field";
  return roles[e.tagName] || "text";
}

function flagsOf(e, role, style, pointer) {
  const f = [];
  const disabled = e.disabled || e.getAttribute("aria-disabled") === "true";
  const editable = role === "field" && !e.readOnly;
  const checkable = role === "checkbox" || role === "radio" || role === "switch";
  if (role === "link" || role === "button" || role === "list" || role === "option" || role === "slider" || e.onclick || e.hasAttribute("onclick") || editable || checkable ||
      e.tabIndex >= 0 && e.hasAttribute("tabindex") || pointer || e.tagName === "LABEL" && e.control && !named(e)) f.push("clickable");
  if (editable) f.push("editable");
  if (checkable) f.push("checkable");
  if (e.checked || e.getAttribute("aria-checked") === "true") f.push("checked");
  if (e.getRootNode().activeElement === e && e !== e.ownerDocument.body) f.push("focused");
  if (e.selected || e.getAttribute("aria-selected") === "true") f.push("selected");
  if (disabled) f.push("disabled");
  if (e.type === "password") f.push("password");
  if (/auto|scroll/.test(style.overflowY + style.overflowX) && (e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1)) f.push("scrollable");
  return f;
}

// named reports whether e is the label of a control that can be seen, and so
// stands beside that control in the scene already.
function named(e) {
  if (e.tagName !== "LABEL" || !e.control) return false;
  const r = e.control.getBoundingClientRect();
  return r.width * r.height > 5 && e.ownerDocument.defaultView.getComputedStyle(e.control).opacity !== "0";
}

function labelOf(e) {
  const by = (e.getAttribute("aria-labelledby") || "").split(/\s+/).map(id => id && e.getRootNode().getElementById && e.getRootNode().getElementById(id)).filter(x => x);
  const own = e.labels && e.labels.length ? Array.from(e.labels).map(l => l.innerText).join(" ") : "";
  return e.getAttribute("aria-label") || by.map(x => x.innerText).join(" ") || own || e.getAttribute("placeholder") || e.getAttribute("alt") || e.getAttribute("title") || "";
}

const ownText = e => Array.from(e.childNodes).filter(n => n.nodeType === Node.TEXT_NODE).map(n => n.data).join(" ");

function textOf(e, role, acts) {
  if (e.type === "password") return "";
  if (e.tagName === "SELECT") return Array.from(e.selectedOptions).map(o => o.text).join(", ");
  if (e.tagName === "INPUT") return role === "checkbox" || role === "radio" ? "" : e.value;
  if (e.tagName === "TEXTAREA") return e.value;
  return acts ? e.innerText : ownText(e);
}

// covered reports whether something else lies over all of five points of e.
function covered(e, r, doc) {
  const at = (fx, fy) => [Math.min(Math.max(r.left + r.width * fx, 0), doc.defaultView.innerWidth - 1), Math.min(Math.max(r.top + r.height * fy, 0), doc.defaultView.innerHeight - 1)];
  for (const [fx, fy] of [[.5, .5], [.25, .25], [.75, .25], [.25, .75], [.75, .75]]) {
    let hit = e.getRootNode().elementFromPoint ? e.getRootNode().elementFromPoint(...at(fx, fy)) : doc.elementFromPoint(...at(fx, fy));
    for (; hit; hit = hit.parentNode || hit.host) if (hit === e) return false;
    hit = doc.elementFromPoint(...at(fx, fy));
    if (hit && e.tagName === "LABEL" === false && e.contains(hit)) return false;
  }
  return true;
}

function walk(e, dx, dy, doc, within) {
  if (found.length >= 4 * most) return;
  const style = doc.defaultView.getComputedStyle(e);
  if (style.display === "none") return;
  const r = e.getBoundingClientRect();
  const shown = style.visibility === "visible" && style.opacity !== "0" && r.width * r.height > 5 &&
    r.right + dx > 0 && r.bottom + dy > 0 && r.left + dx < width && r.top + dy < height;
  let inside = within;
  if (shown) {
    const role = roleOf(e);
    const pointer = style.cursor === "pointer" && (!e.parentElement || doc.defaultView.getComputedStyle(e.parentElement).cursor !== "pointer");
    const flags = flagsOf(e, role, style, pointer);
    const acts = flags.some(f => f === "clickable" || f === "editable" || f === "checkable");
    const text = within && !acts ? "" : cut(textOf(e, role, acts)), label = cut(labelOf(e));
    const picture = role === "image" || role === "canvas" || role === "frame" || role === "video";
    if ((text || label || acts || picture || flags.includes("scrollable")) && !named(e) && !covered(e, r, doc))
      found.push({id: e.id || e.getAttribute("name") || e.getAttribute("data-testid") || "", role, text, label: label === text ? "" : label, flags,
        bounds: [Math.floor(r.left + dx), Math.floor(r.top + dy), Math.ceil(r.right + dx), Math.ceil(r.bottom + dy)]});
    inside = within || acts && e.tagName !== "LABEL";
  }
  if (e.tagName === "IFRAME") {
    let inner = null;
    try { inner = e.contentDocument; } catch (_) {} // of another origin
    if (inner && inner.body && shown) walk(inner.body, dx + r.left + e.clientLeft, dy + r.top + e.clientTop, inner, false);
    return;
  }
  const children = e.shadowRoot ? e.shadowRoot.children : e.tagName === "SLOT" && e.assignedElements().length ? e.assignedElements() : e.children;
  if (e.tagName !== "SELECT") for (const c of children) walk(c, dx, dy, doc, inside);
}

if (document.body) walk(document.body, 0, 0, document, false);
const angle = screen.orientation ? screen.orientation.angle : 0;
return JSON.stringify({host: location.host || location.protocol.replace(":", ""), width, height, rotation: angle, ready: document.readyState === "complete", elements: found});
