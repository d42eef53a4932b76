// The official TypeScript clients: node sdk.mjs sdk|client MCP_URL CALLBACK_PORT
//
// `sdk` is @modelcontextprotocol/sdk 1.x, `client` is @modelcontextprotocol/client 2.x.
import { answerLines } from './conversation.mjs'
import { FileProvider } from './signing_in.mjs'

const [generation, mcpUrl, port] = process.argv.slice(2)
const modules = {
  sdk: async () => ({
    ...(await import('@modelcontextprotocol/sdk/client/index.js')),
    ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
    ...(await import('@modelcontextprotocol/sdk/client/auth.js')),
  }),
  client: () => import('@modelcontextprotocol/client'),
}
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await modules[generation]()
const provider = new FileProvider(`TypeScript ${generation}`, port)

async function connect() {
  const client = new Client({ name: `typescript-${generation}`, version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(new URL(mcpUrl), { authProvider: provider })
  try {
    await client.connect(transport)
    return client
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error
  }
  const answer = await provider.visit
  await transport.finishAuth(generation === 'sdk' ? answer.get('code') : answer)
  return connect()
}

const client = await connect()
await answerLines(
  async () => (await client.listTools()).tools.map(({ name }) => name),
  async (name, values) => (await client.callTool({ name, arguments: values })).content[0].text,
)
await client.close()
