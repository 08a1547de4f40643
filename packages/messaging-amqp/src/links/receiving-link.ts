import { errorCode } from '@tidemark/contracts'
import { eventLoopTurn } from '@tidemark/contracts/internal'
import { MessagingEntityDisabledError, SessionLockLostError } from '@tidemark/messaging'
import {
  assertReasons,
  type EntityRecord,
  type Outcome,
  type ReceiveMode,
  type Received,
  type ReceiverLink,
  type SessionLink,
} from '@tidemark/messaging/front'
import { errorOnWire, isOurs } from '../errors/error-on-wire.ts'
import { answerSent, PROCESSED, settleSent, unsentDeliveries } from '../rhea/rhea-hooks.ts'
import type { RheaDelivery, RheaEvent, RheaSender, RheaState } from '../rhea/rhea-internals.ts'
import type { Transaction } from '../transactions/transaction.ts'
import { encodeDelivery } from '../messages/encode-delivery.ts'
import type { ClientLink, LinkHost } from './client-link.ts'
import { tagOfToken, tokenOfTag } from './delivery-tag.ts'
import { rejected, SETTLED_AS } from './outcomes.ts'
import { modifiedOutcome, rejectedOutcome } from './settlement.ts'

export interface ReceivingLinkParts {
  readonly sender: RheaSender
  readonly host: LinkHost
  readonly record: EntityRecord
  readonly link: ReceiverLink
  readonly session: SessionLink | undefined
}

/** The most messages that are asked for at once: a receive is bounded in bytes, too. */
const MAX_MESSAGES = 200

/** Settled by us before it is sent. */
export function receiveModeOf({ snd_settle_mode: mode }: RheaSender): ReceiveMode {
  return mode === 1 ? 'receiveAndDelete' : 'peekLock'
}

/** @throws ERR_MESSAGING_ENTITY_DISABLED */
export function assertReceives({ path, settings: { status } }: EntityRecord): void {
  if (status === 'Disabled' || status === 'ReceiveDisabled') {
    throw new MessagingEntityDisabledError(path)
  }
}

/** A client receives from a queue, a subscription, a dead-letter queue, or a session. It listens while it is open. */
export class ReceivingLink implements ClientLink {
  readonly path: string
  readonly rights = ['Listen'] as const
  /** Nothing comes in. */
  readonly maxTransferBytes = 0
  readonly session: SessionLink | undefined
  readonly #sender: RheaSender
  readonly #host: LinkHost
  readonly #link: ReceiverLink
  readonly #ended = new AbortController()
  readonly #settling = new Map<RheaDelivery, Promise<void>>()
  #drain = new AbortController()
  #wake: (() => void) | undefined
  readonly #processed = (): void => {
    if (this.#room() > 0 || (this.#isHolding && !this.#isWanted())) this.#wake?.()
  }
  /** Messages that were received, and not sent yet. */
  #isHolding = false
  #run: Promise<void> | undefined
  #tag = 0

  constructor({ sender, host, record, link, session }: ReceivingLinkParts) {
    this.path = record.path
    this.session = session
    this.#sender = sender
    this.#host = host
    this.#link = link
    const { local, target, snd_settle_mode: sends, rcv_settle_mode: receives } = sender
    local.attach['target'] = target?.described()
    local.attach['snd_settle_mode'] = sends
    local.attach['rcv_settle_mode'] = receives
    local.attach['max_message_size'] = record.settings.maxMessageBytes
    sender.on('sender_flow', () => this.#flow())
    sender.on('accepted', (event: RheaEvent) => this.#settle(event, () => ({ kind: 'complete' })))
    sender.on('released', (event: RheaEvent) => this.#settle(event, () => ({ kind: 'release' })))
    sender.on('modified', (event: RheaEvent) => this.#settle(event, modifiedOutcome))
    sender.on('rejected', (event: RheaEvent) => this.#settle(event, rejectedOutcome))
    sender.on('settled', ({ delivery }: RheaEvent) => {
      // Without an outcome: the lock ends in time.
      if (delivery !== undefined && !this.#settling.has(delivery)) settleSent(delivery)
    })
  }

  begin(): void {
    this.#sender.session.on(PROCESSED, this.#processed)
    this.session?.held.ended.addEventListener('abort', () => this.#wake?.())
    this.#run = this.#deliver()
  }

  /** Locks of messages stay until they end (SET-16); a session is released (SES-11). */
  async end(): Promise<void> {
    this.#ended.abort()
    this.#sender.session.off(PROCESSED, this.#processed)
    this.#wake?.()
    await Promise.all(this.#settling.values())
    await Promise.all([this.#run, this.#link.close()])
  }

  #flow(): void {
    // What was asked for before is delivered first.
    this.#sender.set_drained(false)
    if (this.#sender._draining) this.#drain.abort()
    this.#wake?.()
  }

  async #deliver(): Promise<void> {
    try {
      while (!this.#ended.signal.aborted) {
        // A session whose lock has ended ends its link: a client that waits would learn it from nothing else.
        this.session?.held.assertHeld()
        await this.#host.writable()
        const max = this.#room()
        if (max > 0) await this.#receive(max)
        else {
          if (this.#sender._draining && this.#sender.credit <= 0) this.#answerDrain()
          await this.#rest()
        }
      }
    } catch (error) {
      if (!this.#ended.signal.aborted) this.#host.links.close(this.#sender, error)
    }
  }

  /** How many messages the client wants that rhea can take now. */
  #room(): number {
    const { credit, session } = this.#sender
    const unsent = unsentDeliveries(session)
    return Math.min(MAX_MESSAGES, credit - unsent, session.outgoing.available())
  }

  async #receive(max: number): Promise<void> {
    const isDraining = this.#sender._draining
    // The client has changed its mind, and waits again.
    if (!isDraining && this.#drain.signal.aborted) this.#drain = new AbortController()
    const received = await this.#link.receive({
      max,
      maxWaitMs: isDraining ? 0 : Infinity,
      afterFirstMs: 0,
      waitEnds: this.#drain.signal,
      signal: this.#ended.signal,
    })
    this.#isHolding = received.length > 0
    await this.#sendAll(received)
    this.#isHolding = false
    // Nothing came although it did not wait, or the wait was ended by a drain.
    if (received.length === 0 && isDraining) {
      if (unsentDeliveries(this.#sender.session) > 0) await this.#host.pause()
      else this.#answerDrain()
    }
    await eventLoopTurn()
  }

  /** Credit and room may have gone meanwhile: other links of the session send, too, and the client may take its credit back. */
  async #sendAll(received: readonly Received[]): Promise<void> {
    for (const [index, one] of received.entries()) {
      while (this.#room() <= 0 && this.#isWanted()) await this.#rest()
      if (!this.#isWanted()) {
        this.#link.giveBack(received.slice(index))
        return
      }
      this.#send(one)
    }
  }

  get #isOver(): boolean {
    return this.#ended.signal.aborted || this.session?.held.ended.aborted === true
  }

  #isWanted(): boolean {
    return this.#sender.credit > 0 && !this.#isOver
  }

  /** No credit, or no room: until a flow, or until rhea has sent what is in the way, or forgotten what is settled. */
  async #rest(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    if (this.#isOver || this.#room() > 0) resolve()
    await promise
    this.#wake = undefined
  }

  #answerDrain(): void {
    this.#drain = new AbortController()
    this.#sender.set_drained(true)
    this.#sender.connection._register()
  }

  #send({ message, lock }: Received): void {
    let bytes: Buffer
    try {
      bytes = encodeDelivery(message, lock && { untilUtcMs: lock.untilUtcMs })
    } catch (error) {
      // It must not take others along. It comes again when its lock ends, and is dead-lettered in the end.
      this.#host.report(`message ${message.number} of '${this.path}'`, error)
      return
    }
    const tag = lock === undefined ? this.#nextTag() : tagOfToken(lock.token)
    this.#sender.send(bytes, tag, 0)
  }

  #nextTag(): Buffer {
    const tag = Buffer.alloc(16)
    tag.writeUInt32BE((this.#tag += 1) >>> 0, 12)
    return tag
  }

  #settle({ delivery }: RheaEvent, read: (state: RheaState) => Outcome): void {
    if (delivery === undefined || delivery.settled || this.#settling.has(delivery)) return
    const settled = this.#perform(delivery, read).finally(() => this.#settling.delete(delivery))
    this.#settling.set(delivery, settled)
  }

  async #perform(delivery: RheaDelivery, read: (state: RheaState) => Outcome): Promise<void> {
    const { transaction } = delivery
    try {
      if (transaction !== undefined) {
        this.#gather(delivery, this.#host.transactions.find(transaction), read)
        return
      }
      const outcome = this.#read(delivery, read)
      await this.#link.settle(tokenOfTag(delivery.tag), outcome)
      settleSent(delivery, SETTLED_AS[outcome.kind])
    } catch (error) {
      // The link has ended, and nothing was done: a client that gets an answer may take it for done.
      if (errorCode(error) === 'ERR_LINK_CLOSED') return
      if (isOurs(error)) this.#host.report(`a settlement in '${this.path}'`, error)
      settleSent(delivery, rejected(errorOnWire(error)))
    }
  }

  #read(delivery: RheaDelivery, read: (state: RheaState) => Outcome): Outcome {
    // A session that was lost meanwhile is told as such, whatever became of the message.
    if (this.session?.held.isHeld === false)
      throw new SessionLockLostError(this.session.held.sessionId)
    return read(delivery.remote_state ?? { value: [] })
  }

  /** It is settled when the transaction is committed. Until then, and when that is rolled back, the client may say something else. */
  #gather(
    delivery: RheaDelivery,
    transaction: Transaction,
    read: (state: RheaState) => Outcome,
  ): void {
    try {
      const outcome = this.#read(delivery, read)
      assertReasons(outcome)
      const disposition = { token: tokenOfTag(delivery.tag), outcome }
      const step = { kind: 'settle', path: this.path, disposition } as const
      const state = transaction.state(SETTLED_AS[outcome.kind])
      if (delivery.remote_settled) {
        // JMS forgets it, and expects it again after a rollback.
        transaction.add(step, { onRolledBack: () => this.#giveBack(delivery) })
        settleSent(delivery)
      } else {
        transaction.add(step, { onCommitted: () => settleSent(delivery, state) })
        answerSent(delivery, state)
      }
    } catch (error) {
      transaction.fail(error)
      throw error
    }
  }

  #giveBack(delivery: RheaDelivery): void {
    const outcome = { kind: 'abandon', changes: undefined } as const
    const given = this.#link
      .settle(tokenOfTag(delivery.tag), outcome)
      // It comes back when its lock ends.
      .catch(() => undefined)
      .finally(() => this.#settling.delete(delivery))
    this.#settling.set(delivery, given)
  }
}
