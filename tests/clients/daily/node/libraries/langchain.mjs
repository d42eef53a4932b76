// LangChain's adapters: node langchain.mjs MCP_URL CALLBACK_PORT
import { MultiServerMCPClient } from '@langchain/mcp-adapters'
import { auth } from '@modelcontextprotocol/sdk/client/auth.js'

import { answerLines } from '../conversation.mjs'
import { FileProvider } from '../signing_in.mjs'

const [mcpUrl, port] = process.argv.slice(2)
const provider = new FileProvider('LangChain', port)

// The adapters have no step for the code that comes back, so their user exchanges it with the SDK.
if (!provider.tokens()) {
  await auth(provider, { serverUrl: mcpUrl })
  const answer = await provider.visit
  await auth(provider, { serverUrl: mcpUrl, authorizationCode: answer.get('code') })
}
const client = new MultiServerMCPClient({
  mcpServers: { halo: { transport: 'http', url: mcpUrl, authProvider: provider } },
})
const tools = Object.fromEntries((await client.getTools()).map((tool) => [tool.name, tool]))
await answerLines(
  async () => Object.keys(tools),
  async (name, values) => {
    const said = await tools[name].invoke(values)
    return typeof said === 'string' ? said : JSON.stringify(said)
  },
)
await client.close()
