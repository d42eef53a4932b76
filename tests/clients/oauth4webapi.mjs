// A strict client made of oauth4webapi, which throws wherever an answer departs from an RFC.
//
//   node oauth4webapi.mjs MCP_URL AUTH_METHOD ENDING REDIRECT_URI SCOPE NARROWER_SCOPE
//
// It writes one JSON value a line: {"open": address}, after which it reads from its input the
// address that the browser was sent back to; at the end {"outcome": ...} or {"refused": why}.
import { createInterface } from 'node:readline'
import * as oauth from 'oauth4webapi'

const [mcpUrl, authMethod, ending, redirectUri, scope, narrower] = process.argv.slice(2)
const SECONDS = 60
const loopback = { [oauth.allowInsecureRequests]: true }

const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`)
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

async function browse(address) {
  say({ open: address.href })
  return new URL((await input.next()).value)
}

function callMcp(token) {
  return oauth.protectedResourceRequest(
    token,
    'POST',
    new URL(mcpUrl),
    new Headers({
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }),
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    loopback,
  )
}

// The challenges of a 401, which the library only hands out once it could parse them.
async function challenged(token) {
  try {
    await callMcp(token)
  } catch (error) {
    if (error instanceof oauth.WWWAuthenticateChallengeError) return error
    throw error
  }
  throw new Error('no challenge')
}

// RFC 9728 sections 3 and 5.1: the challenge names the document, and its address is derived.
async function discoverResource() {
  const { cause } = await challenged('unknown')
  const named = cause.find(({ scheme }) => scheme === 'bearer').parameters.resource_metadata
  const response = await oauth.resourceDiscoveryRequest(new URL(mcpUrl), loopback)
  if (response.url !== named) throw new Error(`${named} is not where ${mcpUrl} is described`)
  return oauth.processResourceDiscoveryResponse(new URL(mcpUrl), response)
}

async function discoverServer({ authorization_servers: [issuer] }) {
  const response = await oauth.discoveryRequest(new URL(issuer), {
    ...loopback,
    algorithm: 'oauth2',
  })
  return oauth.processDiscoveryResponse(new URL(issuer), response)
}

async function register(server) {
  const response = await oauth.dynamicClientRegistrationRequest(
    server,
    {
      client_name: 'oauth4webapi',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: authMethod,
    },
    loopback,
  )
  return oauth.processDynamicClientRegistrationResponse(response)
}

// As the server registered it, not as it was asked to.
function proof({ token_endpoint_auth_method: method, client_secret: secret }) {
  return {
    none: () => oauth.None(),
    client_secret_basic: () => oauth.ClientSecretBasic(secret),
    client_secret_post: () => oauth.ClientSecretPost(secret),
  }[method]()
}

async function authorize(server, client, resource) {
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const address = new URL(server.authorization_endpoint)
  address.search = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirectUri,
    scope,
    state,
    resource,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  const answer = await browse(address)
  // Checks state and, since the metadata promises it, iss (RFC 9207 section 2.4).
  return { verifier, answer: oauth.validateAuthResponse(server, client, answer, state) }
}

async function exchange(server, client, resource) {
  const { verifier, answer } = await authorize(server, client, resource)
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    proof(client),
    answer,
    redirectUri,
    verifier,
    { ...loopback, additionalParameters: { resource } },
  )
  return oauth.processAuthorizationCodeResponse(server, client, response)
}

async function refresh(server, client, token) {
  const response = await oauth.refreshTokenGrantRequest(server, client, proof(client), token, {
    ...loopback,
    additionalParameters: { scope: narrower },
  })
  return oauth.processRefreshTokenResponse(server, client, response)
}

async function revoke(server, client, token) {
  const response = await oauth.revocationRequest(server, client, proof(client), token, loopback)
  await oauth.processRevocationResponse(response)
}

// Ends the family; returns the error code with which one more refresh is refused.
async function end(server, client, first, newest) {
  if (ending === 'revoke') await revoke(server, client, newest)
  // Or the first one would be a repeated request, and no replay.
  else await refresh(server, client, newest)
  try {
    await refresh(server, client, ending === 'revoke' ? newest : first)
  } catch (error) {
    if (error instanceof oauth.ResponseBodyError) return error.error
    throw error
  }
  return ''
}

async function travel() {
  const resource = await discoverResource()
  const server = await discoverServer(resource)
  const client = await register(server)
  const first = await exchange(server, client, resource.resource)
  const listed = await (await callMcp(first.access_token)).json()
  const second = await refresh(server, client, first.refresh_token)
  return {
    auth_method: client.token_endpoint_auth_method,
    secret: 'client_secret' in client,
    scopes: [first.scope, second.scope],
    tools: listed.result.tools.map(({ name }) => name),
    rotated: first.refresh_token !== second.refresh_token,
    refused: await end(server, client, first.refresh_token, second.refresh_token),
    status: (await challenged(second.access_token)).status,
  }
}

// A server that never answers must not keep anybody waiting for this process.
setTimeout(() => process.exit(3), SECONDS * 1000).unref()
try {
  say({ outcome: await travel() })
} catch (error) {
  if (error instanceof oauth.AuthorizationResponseError) say({ refused: error.error })
  else if (error instanceof oauth.OperationProcessingError) say({ refused: error.message })
  else throw error
}
process.exit(0)
