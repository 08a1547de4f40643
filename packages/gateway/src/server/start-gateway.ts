import { InvalidOptionError } from '@tidemark/contracts'
import {
  checkOptions,
  isLoopbackAddress,
  option,
  optionWhole,
  type OptionRules,
} from '@tidemark/contracts/internal'
import { checkKeys, includesEmulatorKey, type GatewayKeys } from '../authorization/gateway-keys.ts'
import {
  listenRules,
  MAX_TIMER_MS,
  openListener,
  type ListenOptions,
} from '../platform/listener.ts'
import { openGateway } from './gateway.ts'
import {
  gatewayRules,
  resolveClientShare,
  resolveGatewayOptions,
  type GatewayOptions,
} from './gateway-options.ts'

export interface StartGatewayOptions extends GatewayOptions, ListenOptions {
  /**
   * Allows plain http on another address than loopback, for a network that you trust or behind a proxy that speaks TLS: signatures
   * keep keys secret, but documents go over the network for everybody on the way to read. @default false
   */
  readonly insecureHttp?: boolean | undefined
  /** How long `stop()` waits for what is being served, in ms. @range 0 to 2_147_483_647 @default 10_000 */
  readonly stopTimeoutMs?: number | undefined
}

const RULES: OptionRules<StartGatewayOptions> = {
  ...gatewayRules,
  ...listenRules,
  insecureHttp: option.flag,
  stopTimeoutMs: optionWhole(0, MAX_TIMER_MS),
}

/** A gateway that listens. */
export interface RunningGateway {
  /** `http://127.0.0.1:8081/`, for clients on this machine. */
  readonly endpoint: string
  /** Where the socket listens, as the system says it: `127.0.0.1:8081`, `0.0.0.0:8081` (every IPv4 address of this machine), `[::]:8081`. */
  readonly address: string
  readonly host: string
  readonly port: number
  /**
   * From now on only these keys count; requests that are being served are finished. The old ones stay in force when one of the new
   * is refused. To rotate a key, accept both for as long as clients need.
   *
   * @throws ERR_INVALID_OPTION, also for the emulator's well-known key on another address than loopback
   */
  replaceKeys(keys: GatewayKeys): void
  /**
   * Takes no more connections, answers waiting reads, lets what is being served finish up to `stopTimeoutMs`, then
   * ends it. Idempotent; the store stays open.
   */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts a gateway over a store. Binds to loopback by default.
 *
 * Rejects with ERR_INVALID_OPTION, also for the emulator's well-known key, or for plain http without `insecureHttp`, on another
 * address than loopback, and with what the system says when the address cannot be had.
 */
export async function startGateway(options: StartGatewayOptions): Promise<RunningGateway> {
  checkOptions(options, RULES)
  const { host = '127.0.0.1', stopTimeoutMs = 10_000 } = options
  assertSafe(host, options)
  const gateway = openGateway(resolveGatewayOptions(options))
  const clientShare = resolveClientShare(options)
  const listener = await openListener(gateway, { ...options, host, clientShare })
  let stopping: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    await listener.close({
      drain: () => gateway.drain(),
      abort: () => gateway.abort(),
      timeoutMs: stopTimeoutMs,
    })
  }
  const { endpoint, address, port } = listener
  return {
    endpoint,
    address,
    host,
    port,
    replaceKeys: (keys) => {
      checkKeys(keys)
      assertSafe(host, { ...options, keys })
      gateway.replaceKeys(keys)
    },
    stop: () => (stopping ??= stop()),
    [Symbol.asyncDispose]: () => (stopping ??= stop()),
  }
}

/** What reaches other machines has a key that is secret, and TLS or a word that it may do without. */
function assertSafe(host: string, { keys, tls, insecureHttp }: StartGatewayOptions): void {
  if (isLoopbackAddress(host)) return
  if (includesEmulatorKey(keys)) {
    throw new InvalidOptionError(
      `the emulator's key is known to everybody: with it the gateway listens on loopback only, not on ${host}; give it a key of your own`,
    )
  }
  assertEncrypted(host, { tls, insecureHttp })
}

/** @throws ERR_INVALID_OPTION for plain http on another address than loopback, unless it is allowed */
export function assertEncrypted(
  host: string,
  { tls, insecureHttp }: Pick<StartGatewayOptions, 'tls' | 'insecureHttp'>,
): void {
  if (!isLoopbackAddress(host) && tls === undefined && insecureHttp !== true) {
    throw new InvalidOptionError(
      `plain http on ${host} lets everybody on the network read documents: give a certificate (tls; --tls-cert and --tls-key), ` +
        `or, in a network that you trust or behind a proxy that speaks TLS, allow it (insecureHttp; --insecure-http)`,
    )
  }
}
