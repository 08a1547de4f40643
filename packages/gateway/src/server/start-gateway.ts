import { InvalidOptionError } from '@tidemark/contracts'
import { includesEmulatorKey } from '../authorization/gateway-keys.ts'
import { openListener, type ListenOptions } from '../platform/listener.ts'
import { createGateway } from './gateway.ts'
import type { GatewayOptions } from './gateway-options.ts'

export interface StartGatewayOptions extends GatewayOptions, ListenOptions {
  /** How long `stop()` waits for what is being served, in ms. @default 10_000 */
  readonly stopTimeoutMs?: number | undefined
}

/** A gateway that listens. */
export interface RunningGateway {
  /** `http://127.0.0.1:8081/`, for clients on this machine. */
  readonly endpoint: string
  readonly host: string
  readonly port: number
  /**
   * Takes no more connections, answers waiting reads, lets what is being served finish up to `stopTimeoutMs`, then
   * ends it. Idempotent; the store stays open.
   */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost'])

/**
 * Starts a gateway over a store. Binds to loopback unless told otherwise.
 *
 * Rejects with ERR_INVALID_OPTION, also for the emulator's well-known key on another address than loopback, and with
 * what the system says when the address cannot be had.
 */
export async function startGateway(options: StartGatewayOptions): Promise<RunningGateway> {
  const { host = '127.0.0.1', stopTimeoutMs = 10_000 } = options
  if (!LOOPBACK.has(host) && includesEmulatorKey(options.keys)) {
    throw new InvalidOptionError(
      `the emulator's key is known to everybody: with it the gateway binds to loopback only, not to ${host}`,
    )
  }
  const gateway = createGateway(options)
  const listener = await openListener(gateway, { ...options, host })
  let stopping: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    await listener.close({
      drain: () => gateway.drain(),
      abort: () => gateway.abort(),
      timeoutMs: stopTimeoutMs,
    })
  }
  const { endpoint, port } = listener
  return {
    endpoint,
    host,
    port,
    stop: () => (stopping ??= stop()),
    [Symbol.asyncDispose]: () => (stopping ??= stop()),
  }
}
