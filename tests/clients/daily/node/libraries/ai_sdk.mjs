// The MCP client of the AI SDK: node ai_sdk.mjs MCP_URL CALLBACK_PORT
import { auth, createMCPClient, UnauthorizedError } from '@ai-sdk/mcp'

import { answerLines } from '../conversation.mjs'
import { FileProvider } from '../signing_in.mjs'

const [mcpUrl, port] = process.argv.slice(2)
const provider = new FileProvider('AI SDK', port)

async function connect() {
  try {
    return await createMCPClient({ transport: { type: 'http', url: mcpUrl, authProvider: provider } })
  } catch (error) {
    if (!(error instanceof UnauthorizedError || error.cause instanceof UnauthorizedError)) throw error
  }
  const answer = await provider.visit
  await auth(provider, {
    serverUrl: mcpUrl,
    authorizationCode: answer.get('code'),
    callbackState: answer.get('state'),
    iss: answer.get('iss'),
  })
  return connect()
}

const client = await connect()
const tools = await client.tools()
await answerLines(
  async () => Object.keys(tools),
  async (name, values) => (await tools[name].execute(values, {})).content[0].text,
)
await client.close()
