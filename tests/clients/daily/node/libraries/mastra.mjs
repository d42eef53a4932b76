// Mastra's MCP client with its own provider and callback: node mastra.mjs MCP_URL CALLBACK_PORT
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { MCPClient, MCPOAuthClientProvider } from '@mastra/mcp'

import { answerLines } from '../conversation.mjs'

const [mcpUrl, port] = process.argv.slice(2)
const path = join(process.env.HOME, 'tokens.json')
const redirectUrl = `http://127.0.0.1:${port}/callback`

const read = () => (existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {})
const write = (name, value) => writeFileSync(path, JSON.stringify({ ...read(), [name]: value }))
const storage = {
  set: (name, value) => write(name, value),
  get: (name) => read()[name],
  delete: (name) => write(name, undefined),
}

// Its provider neither registers nor has a metadata document of its own, so its user registers it.
async function register() {
  const wellKnown = new URL('/.well-known/oauth-authorization-server', mcpUrl)
  const { registration_endpoint } = await (await fetch(wellKnown)).json()
  const response = await fetch(registration_endpoint, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(clientMetadata),
  })
  return response.json()
}

const clientMetadata = {
  client_name: 'Mastra',
  redirect_uris: [redirectUrl],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}
if (!read().registered) write('registered', await register())
const authProvider = new MCPOAuthClientProvider({
  redirectUrl,
  clientMetadata,
  clientInformation: read().registered,
  storage,
  onRedirectToAuthorization: (url) => void process.stderr.write(`Open ${url}\n`),
})
const client = new MCPClient({ servers: { halo: { url: new URL(mcpUrl), authProvider } } })
if (!(await authProvider.tokens())) await client.authenticate('halo')
const tools = await client.listTools()
await answerLines(
  async () => Object.keys(tools).map((name) => name.replace(/^halo_/, '')),
  async (name, values) => {
    const result = await tools[`halo_${name}`].execute(values, {})
    return result.content?.[0]?.text ?? JSON.stringify(result)
  },
)
await client.disconnect()
