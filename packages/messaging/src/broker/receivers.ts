import { errorCode, InvalidOptionError } from '@tidemark/contracts'
import { describeValue } from '@tidemark/contracts/internal'
import { LOCK_DIGITS, type EntityRecord, type SessionHold } from '@tidemark/store/messages'
import { LinkClosedError } from '../errors/link-closed-error.ts'
import { MessagingNotAllowedError } from '../errors/messaging-not-allowed-error.ts'
import { ServiceTimeoutError } from '../errors/service-timeout-error.ts'
import { SessionCannotBeLockedError } from '../errors/session-lock-errors.ts'
import { sessionIdRule } from '../messages/message-id.ts'
import type { BrokerContext } from './broker-context.ts'
import { awaitPending } from './collect-messages.ts'
import { ExpiryKeepers } from './expiry-keepers.ts'
import { HeldSession } from './held-session.ts'
import { Listenings } from './listenings.ts'
import { MessageReceiver, type MessageReceiverParts } from './message-receiver.ts'
import { lockEnd } from './received.ts'
import { ObservedCalls } from './observed-calls.ts'
import { ReceiverLink, type ReceiverLinkParts } from './receiver-link.ts'
import {
  resolveAcceptOptions,
  resolveReceiverOptions,
  type AcceptSessionOptions,
  type ReceiverOptions,
  type ResolvedAcceptOptions,
  type ResolvedReceiverOptions,
} from './receiver-options.ts'
import type { GrantedSession } from './session-queue.ts'
import { SessionReceiver } from './session-receiver.ts'

/** All receivers of a broker, which end with it. */
export class Receivers {
  readonly #context: BrokerContext
  readonly #listenings: Listenings
  readonly #keepers: ExpiryKeepers
  readonly #open = new Set<{ close(): Promise<void> }>()
  readonly #closing = new AbortController()
  readonly #releases = new Set<Promise<void>>()

  constructor(context: BrokerContext) {
    this.#context = context
    this.#listenings = new Listenings(context)
    this.#keepers = new ExpiryKeepers(this.#listenings)
    context.onEntitiesRead = (records) => this.#keepers.follow(records)
  }

  /** Of an entity without sessions, or of a dead-letter queue. Does no I/O. */
  open<Body>(path: string, options: ReceiverOptions): MessageReceiver<Body> {
    this.#closing.signal.throwIfAborted()
    return this.#opened(
      path,
      resolveReceiverOptions(options),
      undefined,
      (parts) => new MessageReceiver<Body>(parts),
    )
  }

  /** What a front makes its own receivers of. Does no I/O. */
  openLink(path: string, parts: Pick<ReceiverLinkParts, 'mode' | 'held'>): ReceiverLink {
    this.#closing.signal.throwIfAborted()
    const link: ReceiverLink = new ReceiverLink({
      ...parts,
      context: this.#context,
      listenings: this.#listenings,
      path,
      prefetchCount: 0,
      onClosed: () => this.#open.delete(link),
    })
    this.#open.add(link)
    return link
  }

  /** Also of a session without messages. */
  async acceptSession<Body>(
    path: string,
    sessionId: string,
    options: AcceptSessionOptions,
  ): Promise<SessionReceiver<Body>> {
    const resolved = resolveAcceptOptions(options)
    return this.#receiverOf<Body>(path, await this.holdSession(path, sessionId, resolved), resolved)
  }

  /** Of some session that is free and has messages. Waits for one. */
  async acceptNextSession<Body>(
    path: string,
    options: AcceptSessionOptions,
  ): Promise<SessionReceiver<Body>> {
    const resolved = resolveAcceptOptions(options)
    return this.#receiverOf<Body>(path, await this.holdNextSession(path, resolved), resolved)
  }

  async holdSession(
    path: string,
    sessionId: string,
    resolved: ResolvedAcceptOptions,
  ): Promise<HeldSession> {
    checkSessionId(sessionId)
    await this.#begin(path, resolved)
    const { clock, random } = this.#context
    const lock = random.hex(LOCK_DIGITS / 2)
    const { answer, time } = await this.#context
      .commands(path)
      .perform('acceptSession', { lock, session: { named: sessionId } })
    if (answer.kind !== 'accepted') throw new SessionCannotBeLockedError(sessionId)
    const end = lockEnd(answer.lockedUntilMs, time, clock)
    return this.#hold(path, { session: answer.session, lock, end }, resolved)
  }

  async holdNextSession(path: string, resolved: ResolvedAcceptOptions): Promise<HeldSession> {
    const { maxWaitTimeInMs, signal } = resolved
    const waits = maxWaitTimeInMs > 0
    const record = await this.#begin(path, resolved)
    const attachment = await this.#listenings.attach(record, { kind: 'acceptor' })
    try {
      const { signal: closing } = this.#closing
      const [granted] = await awaitPending(attachment.sessions.ask({ waits }), {
        clock: this.#context.clock,
        timeoutMs: waits ? maxWaitTimeInMs : Infinity,
        signals: signal === undefined ? [closing] : [closing, signal],
        giveBack: (sessions) => sessions.forEach((one) => this.#release(path, one)),
      })
      if (granted === undefined) {
        throw new ServiceTimeoutError(
          `no session of '${path}' was free within ${maxWaitTimeInMs} ms`,
        )
      }
      // It listens for the session before it ends to listen for all.
      return await this.#hold(path, granted, resolved)
    } finally {
      await attachment.detach()
    }
  }

  /** Resolves when no receiver is open, and nothing of them runs. */
  async close(): Promise<void> {
    this.#closing.abort(new LinkClosedError('the message broker'))
    await Promise.all([...this.#open].map((receiver) => receiver.close()))
    await Promise.all(this.#releases)
    await this.#keepers.close()
    await this.#listenings.close()
  }

  async #begin(path: string, { signal }: ResolvedAcceptOptions): Promise<EntityRecord> {
    this.#closing.signal.throwIfAborted()
    signal?.throwIfAborted()
    const record = await this.#context.commands(path).record()
    if (record.kind === 'deadLetter' || !record.settings.requiresSession) {
      throw new MessagingNotAllowedError(
        `'${record.path}' has no sessions: create a receiver instead`,
      )
    }
    return record
  }

  async #hold(
    path: string,
    granted: GrantedSession,
    options: ResolvedAcceptOptions,
  ): Promise<HeldSession> {
    const held = new HeldSession(this.#context, this.#listenings, {
      commands: this.#context.commands(path),
      granted,
      renewForMs: options.maxAutoLockRenewalDurationInMs,
    })
    try {
      await held.start()
      options.signal?.throwIfAborted()
      this.#closing.signal.throwIfAborted()
    } catch (error) {
      await held.release(`the session '${granted.session}'`)
      throw error
    }
    return held
  }

  #receiverOf<Body>(
    path: string,
    held: HeldSession,
    options: ResolvedAcceptOptions,
  ): SessionReceiver<Body> {
    return this.#opened(path, options, held, (parts) => new SessionReceiver<Body>(parts, held))
  }

  #opened<Receiver extends MessageReceiver>(
    path: string,
    options: ResolvedReceiverOptions,
    held: HeldSession | undefined,
    create: (parts: MessageReceiverParts) => Receiver,
  ): Receiver {
    const { telemetry, clock, random } = this.#context
    const { receiveMode: mode, prefetchCount, maxAutoLockRenewalDurationInMs } = options
    const receiver: Receiver = create({
      link: new ReceiverLink({
        context: this.#context,
        listenings: this.#listenings,
        path,
        mode,
        prefetchCount,
        held,
        onClosed: undefined,
      }),
      calls: new ObservedCalls(telemetry, path),
      clock,
      random,
      maxAutoLockRenewalDurationInMs,
      onClosed: () => this.#open.delete(receiver),
    })
    this.#open.add(receiver)
    return receiver
  }

  /** Of a session that came when nobody wanted it any more. */
  #release(path: string, { session, lock }: GrantedSession): void {
    const release = this.#releaseSession(path, { session, lock }).finally(() =>
      this.#releases.delete(release),
    )
    this.#releases.add(release)
  }

  async #releaseSession(path: string, hold: SessionHold): Promise<void> {
    try {
      await this.#context.commands(path).perform('releaseSession', { hold })
    } catch (error) {
      // Its lock ends by itself.
      if (errorCode(error) === undefined) throw error
    }
  }
}

function checkSessionId(sessionId: unknown): void {
  if (sessionIdRule.accepts(sessionId)) return
  throw new InvalidOptionError(
    `sessionId must be ${sessionIdRule.expected}, got ${describeValue(sessionId)}`,
  )
}
