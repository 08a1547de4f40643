import type { Duplex } from 'node:stream'
import type { MessageBroker } from '@tidemark/messaging'
import type { AccessPolicy } from '@tidemark/messaging/front'

/** A failure inside the front, for a log. Never contains keys, tokens or messages. */
export interface AmqpFailure {
  /** Of the client. */
  readonly address: string
  /** What it was about, such as `link to 'orders'`. */
  readonly place: string
  readonly error: unknown
}

export interface AmqpServerOptions {
  /** The front does not close it. */
  readonly broker: MessageBroker
  /** Who may do what. */
  readonly policies: readonly AccessPolicy[]
  /** @default '127.0.0.1' */
  readonly host?: string | undefined
  /** 0: any free one. @default 5672, with `tls` 5671 */
  readonly port?: number | undefined
  /** PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined
  /** Allows AMQP without TLS on another address than loopback. @default false */
  readonly insecureAmqp?: boolean | undefined
  /** More connections are closed; those of clients without a valid token first. @default 5_000 */
  readonly maxConnections?: number | undefined
  /** Of one connection, over all of its sessions. @default 1_000 */
  readonly maxLinksPerConnection?: number | undefined
  /** Called for every failure that is not a client's fault. @default nothing */
  readonly onFailure?: ((failure: AmqpFailure) => void) | undefined
}

/** A front that listens. */
export interface RunningAmqpServer {
  /** `amqp://127.0.0.1:5672`, or `amqps://…`: for clients on this machine. */
  readonly url: string
  /** Where the socket listens, as the system says it. */
  readonly address: string
  readonly host: string
  readonly port: number
  /** Serves a client that came another way, such as by a WebSocket. `address` is the client's. */
  accept(stream: Duplex, client: { readonly address: string }): void
  /** From now on only these count: links of others are closed. @throws ERR_INVALID_OPTION */
  replacePolicies(policies: readonly AccessPolicy[]): void
  /** Takes no more connections, and closes those that there are. Locks of messages stay; sessions are released. Idempotent. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts an AMQP front over a broker. Binds to loopback by default.
 *
 * Rejects with ERR_INVALID_OPTION, also for the emulator's well-known key, or for AMQP without TLS and without `insecureAmqp`, on
 * another address than loopback, and with ERR_ADDRESS_UNAVAILABLE when the address cannot be had.
 */
export function startAmqpServer(_options: AmqpServerOptions): Promise<RunningAmqpServer> {
  return Promise.reject(new Error('not written yet'))
}
