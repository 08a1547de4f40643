import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerOptions } from 'node:http'
import type { Socket } from 'node:net'
import { AddressUnavailableError, InvalidOptionError } from '@tidemark/contracts'
import {
  checkOptions,
  option,
  reachableHost,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import { healthAnswer, type HealthSource } from '../health-answer.ts'

export interface ServeHealthOptions {
  /** 0 = any free port. @unit port @range 0 to 65_535 */
  readonly port: number
  /** `0.0.0.0` for the probes of Kubernetes, which come from outside the pod. @default '127.0.0.1' */
  readonly host?: string | undefined
}

/** A server of probes. It does not keep the process alive. */
export interface HealthServer extends AsyncDisposable {
  /** `http://127.0.0.1:8080/`, for clients on this machine. */
  readonly url: string
  readonly port: number
  /** Also ends open connections. Idempotent. */
  close(): Promise<void>
}

const RULES: OptionRules<ServeHealthOptions> = {
  port: requiredOption(option.number),
  host: option.text,
}

/** Probes are small, few and quick: these end what is not. */
const LIMITS = {
  maxHeaderSize: 8 * 1024,
  headersTimeout: 5_000,
  requestTimeout: 5_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
} satisfies ServerOptions
const MAX_CONNECTIONS = 100

/**
 * Serves `/livez` and `/readyz` of one host, or of several in this process, as `healthHandler` answers them: open to everybody who
 * reaches the port, without a name in them. Close it after the hosts, so that `/readyz` says that they drain.
 *
 * Rejects with ERR_INVALID_OPTION, and with ERR_ADDRESS_UNAVAILABLE when it cannot listen there.
 */
export async function serveHealth(
  hosts: HealthSource | readonly HealthSource[],
  options: ServeHealthOptions,
): Promise<HealthServer> {
  checkOptions(options, RULES)
  const all = 'health' in hosts ? [hosts] : hosts
  if (all.length === 0) throw new InvalidOptionError('hosts must have one host at least')
  const { port, host = '127.0.0.1' } = options
  if (!(Number.isSafeInteger(port) && port >= 0 && port <= 65_535)) {
    throw new InvalidOptionError(`port must be a whole number from 0 to 65535, got ${port}`)
  }
  const server = createServer(LIMITS, ({ method = 'GET', url = '/' }, outgoing) => {
    const [path = '/'] = url.split('?')
    const { status, headers, body } = healthAnswer(all, { method, path })
    // Also because of a body that nobody reads.
    outgoing.writeHead(status, { ...headers, connection: 'close' })
    outgoing.end(body)
  })
  const open = new Set<Socket>()
  server.on('connection', (socket) => {
    // The oldest gives way: whoever holds connections must not keep probes out.
    const [oldest] = open
    if (oldest !== undefined && open.size === MAX_CONNECTIONS) {
      open.delete(oldest)
      oldest.destroy()
    }
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  server.unref()
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (cause) {
    throw new AddressUnavailableError({ host, port }, cause)
  }
  const bound = server.address()
  // A text where it listens on a socket of the file system, which it never does.
  assert(typeof bound === 'object' && bound !== null)
  let closed: Promise<unknown> | undefined
  const close = async (): Promise<void> => {
    closed ??= once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  return {
    url: `http://${reachableHost(host)}:${bound.port}/`,
    port: bound.port,
    close,
    [Symbol.asyncDispose]: close,
  }
}
