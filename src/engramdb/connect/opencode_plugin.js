// Written by `engram connect opencode`; `engram connect opencode --remove` deletes it. Changes are overwritten.
//
// Tells Engram what is said and done in a session, and puts what it remembers beside a prompt. Each event is one
// call of `engram hook`. Whatever goes wrong there, opencode goes on as if this file were not here.

import { spawn } from "node:child_process"

const [COMMAND, OPTIONS] = __HOOK__
const ANSWER_MILLISECONDS = 5000
const MAX_SESSIONS = 200

function start(event, payload, stdout) {
  const child = spawn(COMMAND[0], [...COMMAND.slice(1), event, ...OPTIONS], {
    stdio: ["pipe", stdout, "ignore"],
    detached: true, // what is told at the very end outlives a run for a single prompt
  })
  child.on("error", () => {})
  child.stdin.on("error", () => {})
  child.stdin.end(JSON.stringify(payload))
  return child
}

/** Run a hook that nobody waits for. */
function tell(event, payload) {
  start(event, payload, "ignore").unref()
}

/** Run a hook and return the memories that it gives, if any in time. */
async function ask(event, payload) {
  const printed = await new Promise((resolve) => {
    let text = ""
    const child = start(event, payload, "pipe")
    const timer = setTimeout(() => resolve(""), ANSWER_MILLISECONDS)
    child.stdout.on("data", (chunk) => (text += chunk))
    for (const end of ["close", "error"]) {
      child.on(end, () => {
        clearTimeout(timer)
        resolve(text)
      })
    }
  })
  try {
    return JSON.parse(printed).hookSpecificOutput.additionalContext ?? ""
  } catch {
    return ""
  }
}

/** What a message says, without what a program has put into it. */
function words(parts) {
  return parts
    .filter((part) => part.type === "text" && !part.synthetic && !part.ignored && part.text?.trim())
    .map((part) => part.text)
    .join("\n")
}

export const EngramMemory = async ({ directory }) => {
  const helpers = new Set() // sessions that an agent holds with a helper of its own
  const told = new Map() // by session: the latest message of the agent, as far as it has come
  const asked = new Map() // by call: the arguments of a tool, which older versions tell beforehand only

  const about = (sessionID, more) => ({ session_id: sessionID, cwd: directory, ...more })

  const remember = (map, key, value) => {
    map.delete(key)
    map.set(key, value)
    if (map.size > MAX_SESSIONS) map.delete(map.keys().next().value)
  }

  const messageOf = (sessionID, messageID) => {
    const known = told.get(sessionID)
    if (known?.messageID === messageID) return known
    const fresh = { messageID, texts: new Map(), role: "", isSummary: false, isTold: false }
    remember(told, sessionID, fresh)
    return fresh
  }

  const onEvent = {
    "session.created": ({ info }) => {
      if (info?.parentID) helpers.add(info.id)
    },
    "message.updated": ({ info }) => {
      if (!info || info.role !== "assistant") return
      const message = messageOf(info.sessionID, info.id)
      message.role = info.role
      message.isSummary = info.summary === true
    },
    "message.part.updated": ({ part }) => {
      const message = part && told.get(part.sessionID)
      if (part?.type === "text" && !part.synthetic && message?.messageID === part.messageID) {
        message.texts.set(part.id, part.text)
      }
    },
    "session.idle": ({ sessionID }) => {
      const message = told.get(sessionID)
      const reply = message ? [...message.texts.values()].filter((text) => text?.trim()).join("\n") : ""
      if (!reply || message.isTold || message.isSummary || helpers.has(sessionID)) return
      message.isTold = true
      tell("Stop", about(sessionID, { turn_id: message.messageID, last_assistant_message: reply }))
    },
    "session.compacted": ({ sessionID }) => {
      const message = told.get(sessionID)
      const summary = message?.isSummary ? [...message.texts.values()].join("\n") : ""
      if (helpers.has(sessionID)) return
      tell("SessionStart", about(sessionID, { source: "compact", turn_id: message?.messageID, summary }))
    },
  }

  return {
    event: async ({ event }) => {
      onEvent[event.type]?.(event.properties ?? {})
    },
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const prompt = words(parts)
      if (!prompt || helpers.has(sessionID)) return
      const block = await ask("UserPromptSubmit", about(sessionID, { turn_id: message.id, prompt }))
      const last = parts[parts.length - 1]
      if (block) {
        // an id that sorts right behind the last one: parts are kept in the order of their ids
        const place = { id: `${last.id}0`, sessionID, messageID: message.id }
        parts.push({ ...place, type: "text", text: block, synthetic: true })
      }
    },
    "tool.execute.before": async ({ callID }, { args }) => {
      remember(asked, callID, args)
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, output) => {
      const given = args ?? asked.get(callID) ?? {}
      asked.delete(callID)
      if (!["bash", "task"].includes(tool) || helpers.has(sessionID)) return
      const text = output.metadata?.output ?? output.output ?? ""
      const used = { tool_name: tool, tool_use_id: callID, tool_input: given }
      const response = { stdout: text, content: output.output ?? "", exit_code: output.metadata?.exit ?? 0 }
      tell("PostToolUse", about(sessionID, { ...used, tool_response: response }))
    },
  }
}
