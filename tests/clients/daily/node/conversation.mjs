// What a driver is asked on its standard input, and what it replies on its standard output.
//
// A line is a JSON object: {"step": "list"} or {"step": "call", "tool": name, "arguments": {...}}.
// The reply is {"tools": [names]}, {"text": text} or {"error": text}. The end of the input is the end.
import { createInterface } from 'node:readline'

export async function answerLines(listTools, callTool) {
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line)
    const answer = async () =>
      request.step === 'list'
        ? { tools: await listTools() }
        : { text: await callTool(request.tool, request.arguments) }
    const reply = await answer().catch((error) => {
      console.error(error)
      return { error: String(error) }
    })
    process.stdout.write(JSON.stringify(reply) + '\n')
  }
}
