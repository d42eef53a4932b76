// The official TypeScript clients: @modelcontextprotocol/sdk 1.x and @modelcontextprotocol/client 2.x.
//
//   node typescript.mjs sdk|client legacy|REVISION MCP_URL CALLBACK_PORT
//
// It writes the address to open on its standard error, waits for the browser on the callback, and
// says at the end what it found: {"tools": [names], "answer": text}.
import { createServer } from 'node:http'
import { once } from 'node:events'

const [generation, mode, mcpUrl, port] = process.argv.slice(2)
const callback = `http://127.0.0.1:${port}/callback`
const question = process.env.QUESTION

const sdk = {
  sdk: async () => ({
    ...(await import('@modelcontextprotocol/sdk/client/index.js')),
    ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
    ...(await import('@modelcontextprotocol/sdk/client/auth.js')),
  }),
  client: () => import('@modelcontextprotocol/client'),
}[generation]
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await sdk()

// Keeps what it is given, as a desktop client would.
class MemoryTokenStorage {
  redirectUrl = callback
  clientMetadata = {
    client_name: `TypeScript ${generation}`,
    redirect_uris: [callback],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
  kept = {}
  state = () => (this.kept.state ??= crypto.randomUUID())
  clientInformation = () => this.kept.client
  saveClientInformation = (client) => void (this.kept.client = client)
  tokens = () => this.kept.tokens
  saveTokens = (tokens) => void (this.kept.tokens = tokens)
  codeVerifier = () => this.kept.verifier
  saveCodeVerifier = (verifier) => void (this.kept.verifier = verifier)
  redirectToAuthorization = (address) => void process.stderr.write(`Open ${address}\n`)
}

// Where the browser comes back; one visit, then it is closed.
async function visited(server) {
  const [request, response] = await once(server, 'request')
  response.end('Thank you.')
  server.close()
  return new URL(request.url, callback).searchParams
}

async function signIn(transport, keys, server) {
  const given = await visited(server)
  if (given.get('state') !== keys.kept.state) throw new Error('another state came back')
  await transport.finishAuth(generation === 'sdk' ? given.get('code') : given)
}

const options = { legacy: {} }[mode] ?? { versionNegotiation: { mode: { pin: mode } } }
const fresh = () => new Client({ name: `typescript-${generation}`, version: '1.0.0' }, options)
const keys = new MemoryTokenStorage()
const server = createServer().listen(Number(port), '127.0.0.1')
const through = () => new StreamableHTTPClientTransport(new URL(mcpUrl), { authProvider: keys })

const first = through()
await fresh()
  .connect(first)
  .catch((error) => {
    if (!(error instanceof UnauthorizedError)) throw error
  })
await signIn(first, keys, server)
const client = fresh()
await client.connect(through())
const { tools } = await client.listTools()
const { content } = await client.callTool({ name: 'search_docs', arguments: { query: question } })
await client.close()
process.stdout.write(
  JSON.stringify({ tools: tools.map(({ name }) => name), answer: content[0].text }),
)
