import type { Duplex } from 'node:stream'
import type { MessageBroker } from '@tidemark/messaging'
import type { AccessPolicies, MessageFront } from '@tidemark/messaging/front'
import { ProtocolViolationError } from '../errors/protocol-violation-error.ts'
import type { LinkHost } from '../links/client-link.ts'
import { openReceiverOf, openSenderOf } from '../links/open-link.ts'
import { ConnectionClaims } from '../access/connection-claims.ts'
import { ClientLinks } from './client-links.ts'
import { createRhea } from '../rhea/create-rhea.ts'
import { errorOnWire, textOf, type WireError } from '../errors/error-on-wire.ts'
import { FrameGuard } from '../rhea/frame-guard.ts'
import { afterTurn } from '../platform/turns.ts'
import { hookConnection, hookDrain, silence } from '../rhea/rhea-hooks.ts'
import type { RheaConnection, RheaEvent } from '../rhea/rhea-internals.ts'
import { Transactions } from '../transactions/transactions.ts'
import { Work } from './work.ts'

export interface ConnectionParts {
  readonly stream: Duplex
  readonly broker: MessageBroker
  readonly front: MessageFront
  readonly policies: AccessPolicies
  readonly maxLinks: number
  /** Most sessions of a client that has not shown a key yet. */
  readonly strangerSessions: () => number
  readonly report: (place: string, error: unknown) => void
  /** The client has shown a key. It may do so again. */
  readonly onKnown: () => void
  readonly onEnded: () => void
}

const MAX_FRAME_BYTES = 64 * 1024
/** As its `open` says to each client. */
export const MAX_SESSIONS = 1_000
const IDLE_TIMEOUT_MS = 60_000
/** Until a client has shown a token or a key. */
const STRANGER_MS = 30_000
/** Most links until then: a client needs two to show a token. */
const STRANGER_LINKS = 16
/** Most bytes of transfers that are not answered yet: above it, nothing more is read. */
const MAX_HELD_BYTES = 32 * 1024 * 1024
/** For the client to close the socket after it was told that the connection is closed. */
const CLOSE_MS = 5_000
/** The expiry of a token is checked at least this often, because the clock may be set. */
const LONGEST_SLEEP_MS = 60_000
/** For what is on its way to the client. */
const PAUSE_MS = 5

/** One client's connection: what it may do, and its links. */
export class ClientConnection implements LinkHost {
  readonly broker: MessageBroker
  readonly front: MessageFront
  readonly claims: ConnectionClaims
  readonly links: ClientLinks
  readonly transactions: Transactions
  readonly #parts: ConnectionParts
  readonly #guard: FrameGuard
  readonly #rhea: RheaConnection
  readonly #work: Work
  readonly #ended = new AbortController()
  #expiry = new AbortController()

  constructor(parts: ConnectionParts) {
    const { stream, broker, front, policies, report } = parts
    this.#parts = parts
    this.broker = broker
    this.front = front
    this.claims = new ConnectionClaims(policies, front.clock)
    this.#work = new Work((error) => report('a connection', error))
    this.#guard = new FrameGuard({
      stream,
      maxFrameBytes: MAX_FRAME_BYTES,
      maxHeldBytes: MAX_HELD_BYTES,
      onViolation: (error) => this.#violated(error),
      onLastWord: () => this.#finish(),
      onEnd: () => this.#end(),
    })
    this.links = new ClientLinks({
      work: this.#work,
      claims: this.claims,
      report,
    })
    this.transactions = new Transactions({ front, start: (work) => this.#work.start(work) })
    this.#rhea = createRhea({
      maxFrameBytes: MAX_FRAME_BYTES,
      maxSessions: MAX_SESSIONS,
      idleTimeoutMs: IDLE_TIMEOUT_MS,
      logIn: (name, key) => this.#logIn(name, key),
    })
    this.#listen()
    this.#rhea.accept(this.#guard)
    this.#work.start(this.#leaveStranger())
  }

  /** Whether the client has shown that it knows a key. */
  get isKnown(): boolean {
    return this.claims.isKnown
  }

  /** Answers what the client has asked for, tells it, and resolves when nothing of the connection is left. */
  async stop(error: WireError): Promise<void> {
    await Promise.race([this.links.finish(), this.#sleep(CLOSE_MS)])
    await this.#close(error)
    await this.#work.idle()
  }

  destroy(): void {
    this.#parts.stream.destroy()
    this.#end()
  }

  // What links see:

  writable(): Promise<void> {
    return this.#guard.writable()
  }

  async pause(): Promise<void> {
    await this.#sleep(PAUSE_MS)
  }

  release(bytes: number): void {
    this.#guard.release(bytes)
  }

  report(place: string, error: unknown): void {
    this.#parts.report(place, error)
  }

  claimed(): void {
    this.#parts.onKnown()
    this.#expiry.abort()
    this.#expiry = new AbortController()
    this.#work.start(this.#watchExpiry(this.#expiry.signal))
  }

  #listen(): void {
    const { links } = this
    const connection = this.#rhea
    hookConnection(connection, {
      limits: () =>
        this.isKnown
          ? { maxSessions: MAX_SESSIONS, maxLinks: this.#parts.maxLinks }
          : { maxSessions: this.#parts.strangerSessions(), maxLinks: STRANGER_LINKS },
      maxTransferBytes: (link) => links.maxTransferBytes(link),
      takesRequests: (link) => links.takesRequests(link),
      onTransfer: (link, heldBytes) => {
        if (links.has(link)) this.#guard.hold(heldBytes)
      },
      holdsDetach: (link) => links.detached(link),
    })
    connection.on('connection_open', () => this.#guard.opened())
    connection.on('receiver_open', ({ receiver }: RheaEvent) => {
      if (receiver !== undefined) links.attach(receiver, () => openReceiverOf(receiver, this))
    })
    connection.on('sender_open', ({ sender }: RheaEvent) => {
      if (sender === undefined) return
      hookDrain(sender)
      links.attach(sender, (signal) => openSenderOf(sender, this, signal))
    })
    connection.on('session_close', () => links.drop({ all: false }))
    for (const name of ['protocol_error', 'error']) {
      connection.on(name, (error: unknown) => this.#violated(error))
    }
    // What a client says of its own errors. Without a listener rhea throws some of them, or writes to the console.
    for (const name of QUIET_EVENTS) connection.on(name, () => undefined)
  }

  #logIn(name: string, key: string): boolean {
    try {
      this.claims.putKey(name, key)
      this.#parts.onKnown()
      return true
    } catch {
      return false
    }
  }

  async #watchExpiry(signal: AbortSignal): Promise<void> {
    for (;;) {
      const leftMs = this.claims.nextExpiryMs()
      if (leftMs === undefined) return
      await this.#sleep(Math.min(leftMs, LONGEST_SLEEP_MS), signal)
      if (signal.aborted || this.#ended.signal.aborted) return
      this.links.checkClaims()
    }
  }

  async #leaveStranger(): Promise<void> {
    await this.#sleep(STRANGER_MS)
    if (this.#ended.signal.aborted || this.isKnown) return
    const description = `The connection was closed: no token came within ${STRANGER_MS} ms.`
    await this.#close({ condition: 'amqp:connection:forced', description })
  }

  async #close(error: WireError): Promise<void> {
    if (this.#rhea.is_open()) {
      this.#rhea.close(error)
      await this.#sleep(CLOSE_MS)
    }
    this.destroy()
  }

  /** The client is given some time to close the socket itself, so that it reads what was said last. */
  #finish(): void {
    this.links.drop({ all: true })
    this.#work.start(this.#sleep(CLOSE_MS).then(() => this.destroy()))
  }

  /** Says why, and ends the connection. */
  #violated(error: unknown): void {
    const known =
      error instanceof ProtocolViolationError
        ? error
        : new ProtocolViolationError(
            `The client broke the protocol: ${textOf(error)}.`,
            undefined,
            {
              cause: error,
            },
          )
    if (this.#rhea.is_open()) this.#rhea.close(errorOnWire(known))
    afterTurn(() => this.#guard.end())
  }

  #end(): void {
    if (this.#ended.signal.aborted) return
    this.#ended.abort()
    silence(this.#rhea)
    this.links.drop({ all: true })
    this.#parts.onEnded()
  }

  /** Until the time is up, or the connection ends. */
  async #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const ended = this.#ended.signal
    try {
      await this.front.clock.sleep(
        ms,
        signal === undefined ? ended : AbortSignal.any([ended, signal]),
      )
    } catch {
      // It was ended.
    }
  }
}

const QUIET_EVENTS = [
  'connection_error',
  'connection_close',
  'session_error',
  'sender_error',
  'sender_close',
  'receiver_error',
  'receiver_close',
  'disconnected',
] as const
