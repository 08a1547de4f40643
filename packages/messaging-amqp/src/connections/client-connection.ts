import type { Duplex } from 'node:stream'
import rhea from 'rhea'
import {
  SessionLockLostError,
  UnauthorizedAccessError,
  type MessageBroker,
} from '@tidemark/messaging'
import type { AccessPolicies, MessageFront, SessionLink } from '@tidemark/messaging/front'
import { ProtocolViolationError } from '../errors/protocol-violation-error.ts'
import { parseAddress } from '../links/address.ts'
import { AnswerLink } from '../links/answer-link.ts'
import type { ClientLink, LinkHost } from '../links/client-link.ts'
import { openClaimsLink } from '../links/claims-link.ts'
import { openManagementLink } from '../links/management-link.ts'
import { openReceiving } from '../links/open-receiving.ts'
import { SendingLink } from '../links/sending-link.ts'
import { ConnectionClaims } from './claims.ts'
import { errorOnWire, isOurs, notImplemented } from './error-on-wire.ts'
import { FrameGuard } from './frame-guard.ts'
import { finishDetach, holdAttach, hookConnection, incompleteBytes } from './rhea-hooks.ts'
import type {
  RheaConnection,
  RheaContainer,
  RheaError,
  RheaEvent,
  RheaLink,
  RheaReceiver,
  RheaSender,
} from './rhea-internals.ts'

export interface ConnectionParts {
  readonly stream: Duplex
  readonly broker: MessageBroker
  readonly front: MessageFront
  readonly policies: AccessPolicies
  readonly maxLinks: number
  readonly report: (place: string, error: unknown) => void
  readonly onEnded: () => void
}

const MAX_FRAME_BYTES = 64 * 1024
const MAX_SESSIONS = 1_000
/** Twice as long without a frame, and the connection is closed. */
const IDLE_TIMEOUT_MS = 60_000
/** Until a client has shown a token or a key. */
const STRANGER_MS = 30_000
/** Of transfers that are not answered yet: above it, nothing more is read. */
const MAX_HELD_BYTES = 32 * 1024 * 1024
/** After a connection was told to close. */
const CLOSE_MS = 5_000

/** One client's connection: its links, and what it may do. */
export class ClientConnection implements LinkHost {
  readonly claims: ConnectionClaims
  readonly front: MessageFront
  readonly #parts: ConnectionParts
  readonly #guard: FrameGuard
  readonly #rhea: RheaConnection
  readonly #links = new Map<RheaLink, ClientLink>()
  readonly #opening = new Map<RheaLink, AbortController>()
  readonly #work = new Set<Promise<void>>()
  readonly #ended = new AbortController()
  #expiry = new AbortController()

  constructor(parts: ConnectionParts) {
    const { stream, front, policies } = parts
    this.#parts = parts
    this.front = front
    this.claims = new ConnectionClaims(policies, front.clock)
    this.#guard = new FrameGuard({
      stream,
      maxFrameBytes: MAX_FRAME_BYTES,
      maxHeldBytes: MAX_HELD_BYTES,
      onViolation: (error) => this.#violate(error),
    })
    this.#rhea = this.#createRhea()
    this.#listen()
    this.#rhea.accept(this.#guard)
    this.#do(this.#leaveStranger())
  }

  /** Whether the client has shown that it knows a key. */
  get isKnown(): boolean {
    return this.claims.isKnown
  }

  /** Links that the client may no longer use are closed: keys were replaced, or a token ran out. */
  checkClaims(): void {
    for (const [link, { path, rights }] of this.#links) {
      if (rights.length === 0 || rights.some((right) => this.claims.permits(right, path))) continue
      this.close(
        link,
        new UnauthorizedAccessError(`Unauthorized access: the token for '${path}' has expired.`),
      )
    }
  }

  /** Tells the client, and resolves when nothing of the connection is left. */
  async stop(error: RheaError): Promise<void> {
    if (this.#rhea.is_open()) {
      this.#rhea.close(error)
      await this.#sleep(CLOSE_MS)
    }
    this.destroy()
    while (this.#work.size > 0) await Promise.all(this.#work)
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
    await this.#sleep(5)
  }

  release(bytes: number): void {
    this.#guard.release(bytes)
  }

  close(link: RheaLink, error: unknown): void {
    if (isOurs(error)) this.report(`the link '${link.name}'`, error)
    this.#endLink(link)
    if (link.is_open()) link.close(errorOnWire(error))
  }

  report(place: string, error: unknown): void {
    this.#parts.report(place, error)
  }

  answerLink(path: string, replyTo: string): RheaSender | undefined {
    for (const link of this.#links.values()) {
      const isOfNode = link instanceof AnswerLink && link.path.toLowerCase() === path.toLowerCase()
      if (isOfNode && link.takes(replyTo)) return link.sender
    }
    return undefined
  }

  /** @throws ERR_SESSION_LOCK_LOST when no link of this connection holds it */
  heldSession(path: string, sessionId: string, linkName: string | undefined): SessionLink {
    for (const [link, { session, path: other }] of this.#links) {
      const isNamed = linkName === undefined || link.name === linkName
      const isHere = other.toLowerCase() === path.toLowerCase()
      if (isNamed && isHere && session?.held.sessionId === sessionId) return session
    }
    throw new SessionLockLostError(sessionId)
  }

  #createRhea(): RheaConnection {
    const container = rhea.create_container({ id: 'tidemark' })
    const mechanisms = container.sasl_server_mechanisms
    mechanisms.enable_anonymous()
    // What .NET asks for: it is the same, and the token follows.
    Reflect.set(mechanisms, 'MSSBCBS', Reflect.get(mechanisms, 'ANONYMOUS'))
    mechanisms.enable_plain((name: string, key: string) => this.#logIn(name, key))
    const options = {
      container_id: 'tidemark',
      max_frame_size: MAX_FRAME_BYTES,
      channel_max: MAX_SESSIONS - 1,
      idle_time_out: IDLE_TIMEOUT_MS,
      reconnect: false,
      tcp_no_delay: true,
      properties: { product: 'Tidemark' },
      receiver_options: { autoaccept: false, autosettle: false, credit_window: 0 },
      sender_options: { autosettle: false, treat_modified_as_released: false },
    }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rhea's declarations know connections of clients only.
    const { create_connection: create } = container as unknown as RheaContainer
    return create.call(container, options)
  }

  #listen(): void {
    const connection = this.#rhea
    hookConnection(connection, {
      limits: { maxSessions: MAX_SESSIONS, maxLinks: this.#parts.maxLinks },
      maxTransferBytes: (link) => this.#links.get(link)?.maxTransferBytes ?? 0,
      onTransferBytes: (link, bytes) => {
        if (this.#links.has(link)) this.#guard.hold(bytes)
      },
      holdsDetach: (link) => this.#closedByClient(link),
    })
    connection.on('connection_open', () => this.#guard.opened())
    connection.on(
      'receiver_open',
      ({ receiver }: RheaEvent) => receiver && this.#openReceiver(receiver),
    )
    connection.on('sender_open', ({ sender }: RheaEvent) => sender && this.#openSender(sender))
    connection.on('session_close', () => this.#dropLinks())
    connection.on('disconnected', () => undefined)
    this.#guard.on('end', () => this.#end())
    connection.on('protocol_error', (error: unknown) => this.#violate(error))
    connection.on('error', (error: unknown) => this.#violate(error))
    // Errors of the client, which stand beside the events above. Without a listener, rhea throws them.
    for (const name of ['connection_error', 'session_error', 'sender_error', 'receiver_error']) {
      connection.on(name, () => undefined)
    }
    for (const name of ['connection_close', 'sender_close', 'receiver_close']) {
      connection.on(name, () => undefined)
    }
  }

  /** The client sends. */
  #openReceiver(receiver: RheaReceiver): void {
    const address = parseAddress(receiver.target?.address)
    this.#open(receiver, async () => {
      if (address === undefined) throw notOffered('a link without the address of an entity')
      const { node, path } = address
      if (node === 'claims') return openClaimsLink(receiver, this, () => this.#claimed())
      if (node === 'management') {
        return openManagementLink(receiver, this, {
          path,
          broker: this.#parts.broker,
          heldSession: (sessionId, linkName) => this.heldSession(path, sessionId, linkName),
        })
      }
      return SendingLink.open(receiver, this, path)
    })
  }

  /** The client receives. */
  #openSender(sender: RheaSender): void {
    const address = parseAddress(sender.source?.address)
    this.#open(sender, async (signal) => {
      if (address === undefined) throw notOffered('a link without the address of an entity')
      const { node, path } = address
      if (node === 'claims') return new AnswerLink(sender, { path, rights: [] })
      if (node === 'management') {
        const { path: entity } = await this.front.entity(path)
        return new AnswerLink(sender, { path: entity, rights: ['Listen', 'Send', 'Manage'] })
      }
      return openReceiving(sender, { host: this, path, signal })
    })
  }

  /** Answers an attach when the link is open, or with the error. */
  #open(link: RheaLink, open: (signal: AbortSignal) => Promise<ClientLink>): void {
    const { release } = holdAttach(link)
    const leaving = new AbortController()
    this.#opening.set(link, leaving)
    this.#do(this.#openLink(link, { release, leaving, open }))
  }

  async #openLink(
    link: RheaLink,
    {
      release,
      leaving,
      open,
    }: {
      readonly release: () => void
      readonly leaving: AbortController
      readonly open: (signal: AbortSignal) => Promise<ClientLink>
    },
  ): Promise<void> {
    try {
      const opened = await open(leaving.signal)
      if (leaving.signal.aborted) {
        await opened.end()
        return
      }
      this.#links.set(link, opened)
      release()
      opened.begin()
    } catch (error) {
      // Whoever has left gets no answer: some clients end their connection for one.
      if (leaving.signal.aborted) return
      if (isOurs(error)) this.report(`an attach to '${describeAddress(link)}'`, error)
      link.close(error instanceof NotOffered ? notImplemented(error.what) : errorOnWire(error))
      release()
    } finally {
      this.#opening.delete(link)
    }
  }

  /** True: the link is answered when what it held is given back. */
  #closedByClient(link: RheaLink): boolean {
    this.#opening.get(link)?.abort()
    const ending = this.#endLink(link)
    if (ending === undefined) return false
    this.#do(ending.finally(() => finishDetach(link)))
    return true
  }

  #endLink(link: RheaLink): Promise<void> | undefined {
    const open = this.#links.get(link)
    if (open === undefined) return undefined
    this.#links.delete(link)
    this.#guard.release(incompleteBytes(link))
    const ending = open.end()
    this.#do(ending)
    return ending
  }

  /** Of sessions that the client has ended. */
  #dropLinks(): void {
    for (const link of [...this.#links.keys()]) if (!link.is_remote_open()) this.#endLink(link)
    for (const [link, leaving] of this.#opening) if (!link.is_remote_open()) leaving.abort()
  }

  #logIn(name: string, key: string): boolean {
    try {
      this.claims.putKey(name, key)
      return true
    } catch {
      // After the outcome was written.
      setImmediate(() => this.#guard.end())
      return false
    }
  }

  /** The client has a new token. */
  #claimed(): void {
    this.#expiry.abort()
    this.#expiry = new AbortController()
    this.#do(this.#watchExpiry(this.#expiry.signal))
  }

  async #watchExpiry(signal: AbortSignal): Promise<void> {
    for (;;) {
      const leftMs = this.claims.nextExpiryMs()
      if (leftMs === undefined) return
      // A long timer notices a clock that was set.
      await this.#sleep(Math.min(leftMs, 60_000), signal)
      if (signal.aborted) return
      this.checkClaims()
    }
  }

  async #leaveStranger(): Promise<void> {
    await this.#sleep(STRANGER_MS)
    if (this.#ended.signal.aborted || this.isKnown) return
    this.#rhea.close({
      condition: 'amqp:connection:forced',
      description: `The connection was closed: no token came within ${STRANGER_MS} ms.`,
    })
  }

  /** Says why, and ends the connection. */
  #violate(error: unknown): void {
    const known =
      error instanceof ProtocolViolationError
        ? error
        : new ProtocolViolationError('The client broke the protocol.', undefined, { cause: error })
    if (this.#rhea.is_open()) this.#rhea.close(errorOnWire(known))
    setImmediate(() => {
      this.#guard.end()
      this.#end()
    })
  }

  #end(): void {
    if (this.#ended.signal.aborted) return
    this.#ended.abort()
    this.#expiry.abort()
    for (const leaving of this.#opening.values()) leaving.abort()
    for (const link of [...this.#links.keys()]) this.#endLink(link)
    this.#parts.onEnded()
  }

  /** Shorter when the connection ends. */
  async #sleep(ms: number, signal: AbortSignal = this.#ended.signal): Promise<void> {
    await this.front.clock
      .sleep(ms, AbortSignal.any([signal, this.#ended.signal]))
      .catch(() => undefined)
  }

  #do(work: Promise<void>): void {
    const done: Promise<void> = work
      .catch((error: unknown) => this.report('a connection', error))
      .finally(() => this.#work.delete(done))
    this.#work.add(done)
  }
}

class NotOffered extends Error {
  readonly what: string

  constructor(what: string) {
    super(what)
    this.what = what
  }
}

function notOffered(what: string): NotOffered {
  return new NotOffered(what)
}

function describeAddress(link: RheaLink): string {
  const { address } = (link.is_receiver() ? link.target : link.source) ?? {}
  return String(address)
}
