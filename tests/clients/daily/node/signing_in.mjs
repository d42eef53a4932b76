// The provider that TypeScript clients take, with a file for what it stores, and its callback.
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'

const path = join(process.env.HOME, 'tokens.json')

export class FileProvider {
  constructor(name, port) {
    this.redirectUrl = `http://127.0.0.1:${port}/callback`
    this.port = Number(port)
    this.clientMetadata = {
      client_name: name,
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    }
  }

  read = () => (existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {})
  write = (name, value) => writeFileSync(path, JSON.stringify({ ...this.read(), [name]: value }))

  state = () => {
    this.write('state', crypto.randomUUID())
    return this.read().state
  }
  storedState = () => this.read().state
  saveState = (state) => this.write('state', state)
  clientInformation = () => this.read().client
  saveClientInformation = (client) => this.write('client', client)
  tokens = () => this.read().tokens
  saveTokens = (tokens) => this.write('tokens', tokens)
  codeVerifier = () => this.read().verifier
  saveCodeVerifier = (verifier) => this.write('verifier', verifier)
  invalidateCredentials = (kind) => {
    const names = kind === 'all' ? ['client', 'tokens', 'verifier'] : [kind]
    for (const name of names) this.write(name, undefined)
  }

  redirectToAuthorization = (address) => {
    // It listens before anybody can come back.
    const server = createServer().listen(this.port, '127.0.0.1', () =>
      process.stderr.write(`Open ${address}\n`),
    )
    this.visit = once(server, 'request').then(([request, response]) => {
      response.end('Thank you.')
      server.close()
      return new URL(request.url, this.redirectUrl).searchParams
    })
  }
}
