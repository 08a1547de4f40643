import { InvalidOptionError } from '@tidemark/contracts'
import {
  checkOptions,
  isLoopbackAddress,
  option,
  optionGroup,
  optionHaving,
  optionRule,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { MessageBroker } from '@tidemark/messaging'
import { includesEmulatorKey, type AccessPolicy } from '@tidemark/messaging/front'
import { AdminService, type AdminFailure } from './admin-service.ts'
import { openHttpListener } from '../platform/http-listener.ts'

export type { AdminFailure } from './admin-service.ts'

export interface AdminServerOptions {
  /** The server does not close it. */
  readonly broker: MessageBroker
  /** Who may do what. Rules of subscriptions need Listen, everything else needs Manage. */
  readonly policies: readonly AccessPolicy[]
  /** Address to listen at. @default '127.0.0.1' */
  readonly host?: string | undefined
  /** 0: any free one. @unit port @range 0 to 65_535 @default 5300 */
  readonly port?: number | undefined
  /** PEM texts. @default none: plain http */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined
  /** Allows http without TLS on another address than loopback. @default false */
  readonly insecureHttp?: boolean | undefined
  /** More are told to come back in a second. @range 1 to 10_000 @default 64 */
  readonly maxConcurrentRequests?: number | undefined
  /** How long `stop()` waits for what is being served, in ms. @range 0 to 2_147_483_647 @default 10_000 */
  readonly stopTimeoutMs?: number | undefined
  /** Called for every failure that is not a client's fault. @default nothing */
  readonly onFailure?: ((failure: AdminFailure) => void) | undefined
}

export interface RunningAdminServer {
  /** `http://127.0.0.1:5300/`, for clients on this machine. */
  readonly endpoint: string
  /** Address and port of the socket. */
  readonly address: string
  readonly host: string
  readonly port: number
  /** From now on only these count. @throws ERR_INVALID_OPTION, and the old ones stay in force */
  replacePolicies(policies: readonly AccessPolicy[]): void
  /** Accepts no more connections, and lets requests in progress finish within `stopTimeoutMs`. Idempotent. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const pem = requiredOption({
  ...optionRule('PEM text', (value) => typeof value === 'string'),
  secret: true,
})

const RULES: OptionRules<AdminServerOptions> = {
  broker: requiredOption(optionHaving('a message broker', 'front', 'createQueue')),
  policies: requiredOption(optionRule('a list of policies', (value) => Array.isArray(value))),
  host: option.text,
  port: option.number,
  tls: optionGroup<NonNullable<AdminServerOptions['tls']>>({ cert: pem, key: pem }),
  insecureHttp: option.flag,
  maxConcurrentRequests: option.number,
  stopTimeoutMs: option.number,
  onFailure: option.function,
}

/**
 * Starts the management of a broker's entities over HTTP, as the official administration client calls it. Binds to loopback by
 * default.
 *
 * Rejects with ERR_INVALID_OPTION, also for the emulator's well-known key, or for http without TLS and without `insecureHttp`, on
 * another address than loopback, and with ERR_ADDRESS_UNAVAILABLE when the address cannot be had.
 */
export async function startAdminServer(options: AdminServerOptions): Promise<RunningAdminServer> {
  checkOptions(options, RULES)
  const { broker, policies, host = '127.0.0.1', port = 5300, tls } = options
  const { maxConcurrentRequests = 64, stopTimeoutMs = 10_000, onFailure = () => {} } = options
  assertSafe(host, options)
  assertWithin('port', port, { least: 0, most: 65_535 })
  assertWithin('maxConcurrentRequests', maxConcurrentRequests, { least: 1, most: 10_000 })
  assertWithin('stopTimeoutMs', stopTimeoutMs, { least: 0, most: 2 ** 31 - 1 })
  const service = new AdminService({ broker, policies, maxConcurrentRequests, onFailure })
  const answer = service.answer.bind(service)
  const listener = await openHttpListener({ host, port, tls, answer })
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => (stopping ??= listener.close(stopTimeoutMs))
  const { endpoint, address } = listener
  return {
    endpoint,
    address,
    host,
    port: listener.port,
    replacePolicies: (replacing) => {
      assertSafe(host, { ...options, policies: replacing })
      service.replacePolicies(replacing)
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** A server that other machines can reach needs secret keys, and TLS unless it is told to go without. */
function assertSafe(host: string, { policies, tls, insecureHttp }: AdminServerOptions): void {
  if (isLoopbackAddress(host)) return
  if (includesEmulatorKey(policies)) {
    throw new InvalidOptionError(
      `the emulator's key is known to everybody: with it entities are managed on loopback only, not on ${host}; give a key of your own`,
    )
  }
  if (tls === undefined && insecureHttp !== true) {
    throw new InvalidOptionError(
      `plain http on ${host} lets everybody on the network read tokens: give a certificate (tls; --tls-cert and --tls-key), ` +
        `or, in a network that you trust or behind a proxy that speaks TLS, allow it (insecureHttp; --insecure-http)`,
    )
  }
}

function assertWithin(
  name: string,
  value: number,
  { least, most }: { readonly least: number; readonly most: number },
): void {
  if (Number.isInteger(value) && value >= least && value <= most) return
  throw new InvalidOptionError(`${name} must be an integer from ${least} to ${most}, got ${value}`)
}
