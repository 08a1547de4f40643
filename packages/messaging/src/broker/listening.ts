import type { EntityRecord, Listening, SessionLook } from '@tidemark/store/messages'
import { MessagingEntityNotFoundError } from '../errors/messaging-entity-errors.ts'
import { isRetryable } from '../errors/is-retryable.ts'
import { assertReceivable } from './assert-receivable.ts'
import { Bell } from './bell.ts'
import type { BrokerContext } from './broker-context.ts'
import type { EntityCommands } from './entity-commands.ts'
import type { ReceiveQueue } from './receive-queue.ts'
import { earliest, nextInstants, type Looks, type NextInstants } from './next-instants.ts'
import type { SessionQueue } from './session-queue.ts'

/** Somebody in this broker for whom messages of an entity expire (decisions 1 and 2 of the semantics). */
export type Listener =
  /** Of an entity without sessions. `onEnd`: the entity or the store is gone. */
  | { readonly kind: 'receiver'; readonly onEnd?: ((error: unknown) => void) | undefined }
  /** Only for what expires (EXP-33). It is no activity, and keeps no process running. */
  | { readonly kind: 'keeper'; readonly onEnd: () => void }
  /** Waits for some session. */
  | { readonly kind: 'acceptor' }
  | { readonly kind: 'session'; readonly session: string; readonly queue: ReceiveQueue }

/** What the broker's listenings share. */
export interface ListeningParts {
  readonly context: BrokerContext
  readonly record: EntityRecord
  readonly messages: ReceiveQueue
  readonly sessions: SessionQueue
  /** The entities whose commits matter to it. */
  readonly onWatched: (entities: readonly number[]) => void
  readonly onEnd: () => void
}

/** While nobody waits, only timers want a look: no more often than so. Far less than 250 ms (decision 3). */
const LOOK_INTERVAL_MS = 50
/**
 * After the last commit and after somebody found nothing, one more look: another process may have locked what was there,
 * which rings nowhere, and may die before it settles it.
 */
const LAST_LOOK_MS = 1_000
/** Between two times of applying what is due, so that messages that expire one after the other leave together. */
const APPLY_INTERVAL_MS = 20
/** Until the next attempt after an error, or at what another process is at; doubled each time. */
const FIRST_PATIENCE_MS = 50
const LAST_PATIENCE_MS = 5_000
/** A clock that jumped is noticed after so long. */
const LONGEST_SLEEP_MS = 60_000

type Step = 'look' | 'apply' | 'touch'

/**
 * Listens to one entity for all of its listeners in this broker, while there are any. It looks after a commit that matters
 * and at the next instant at which something happens by itself, applies what is due, and wakes those who wait. While
 * nothing is committed and nothing is due, it asks the store for nothing and has no timer, except that it stamps an entity
 * with an idle period every tenth of it (TMP-05).
 */
export class EntityListening {
  readonly #parts: ListeningParts
  readonly #listeners = new Set<Listener>()
  readonly #bell: Bell
  #run: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined
  #hasEnded = false

  #instants: NextInstants = { lockMs: undefined, storeMs: undefined }
  /** Locks that were given while a look was on its way. */
  #expectedLockMs: number | undefined
  #applied: NextInstants = { lockMs: undefined, storeMs: undefined }
  #hasRung = false
  #hasReady = false
  #isLookStale = true
  #idleMs: number | undefined
  /** Of those held here, as last looked at. */
  #sessions: readonly SessionLook[] = []
  #patienceMs = 0
  // By the monotonic clock:
  #lookedAtMs = -Infinity
  #notBeforeMs = -Infinity
  #lastLookAtMs = Infinity
  #touchAtMs = Infinity

  constructor(parts: ListeningParts) {
    this.#parts = parts
    this.#bell = new Bell(parts.context.clock)
  }

  /** The entity or the store is gone. Whoever comes has to find the entity again. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Whether somebody listens who is no keeper. */
  get isUsed(): boolean {
    for (const { kind } of this.#listeners) if (kind !== 'keeper') return true
    return false
  }

  attach(listener: Listener): void {
    const wasUsed = this.isUsed
    this.#listeners.add(listener)
    if (this.isUsed !== wasUsed) this.#planTouch()
    if (this.#run === undefined) {
      const stop = new AbortController()
      this.#run = { stop, ended: this.#attend(stop.signal) }
    }
    // A new session may have something that expires.
    this.ring()
  }

  /** Resolves when nothing runs for this listener any more. */
  async detach(listener: Listener): Promise<void> {
    this.#listeners.delete(listener)
    if (!this.isUsed) this.#planTouch()
    if (this.#listeners.size > 0 || this.#run === undefined) return
    const { stop, ended } = this.#run
    this.#run = undefined
    this.#parts.onEnd()
    this.#hasEnded = true
    stop.abort()
    await ended
  }

  /** Something was committed. */
  ring(): void {
    const isLookPlanned = this.#hasRung
    this.#hasRung = true
    this.#patienceMs = 0
    // Under load each commit rings, and a new timer costs a tenth of what a send does here.
    if (!isLookPlanned || this.#isAwaited) this.#bell.ring()
  }

  /** A lock was given that ends then. So the listening need not look to know it. */
  expectLockEnd(lockMs: number): void {
    this.#expectedLockMs = earliest([this.#expectedLockMs, lockMs])
    if (lockMs >= (this.#instants.lockMs ?? Infinity)) return
    this.#instants = { ...this.#instants, lockMs }
    this.#bell.ring()
  }

  /** Somebody found nothing, and waits. */
  expectMessages(): void {
    this.#lastLookAtMs = Math.min(this.#lastLookAtMs, this.#nowMs() + LAST_LOOK_MS)
    this.#bell.ring()
  }

  async #attend(signal: AbortSignal): Promise<void> {
    let step: Step | undefined = 'look'
    while (step !== undefined) {
      try {
        await this.#do(step)
      } catch (error) {
        if (!isRetryable(error)) {
          this.#fail(error)
          return
        }
        this.#beMorePatient()
        this.#hasRung = true
        this.#lookedAtMs = this.#nowMs() + this.#patienceMs
        this.#notBeforeMs = this.#lookedAtMs
      }
      step = await this.#pause(signal)
    }
  }

  async #do(step: Step): Promise<void> {
    if (step === 'touch') {
      this.#planTouch()
      await this.#commands.perform('touch', {})
      return
    }
    if (step === 'apply') await this.#apply()
    await this.#look()
  }

  /** Resolves with what to do next, when its time has come; with undefined at the end. */
  async #pause(signal: AbortSignal): Promise<Step | undefined> {
    while (!signal.aborted) {
      const nowMs = this.#nowMs()
      const times = {
        touch: this.#touchAtMs - nowMs,
        apply: Math.max(this.#leftMs(), this.#notBeforeMs - nowMs),
        look: this.#lookAtMs() - nowMs,
      }
      if (times.look <= 0) return 'look'
      // What was due then may have been settled or renewed since the last look.
      if (times.apply <= 0) return this.#isLookStale ? 'look' : 'apply'
      if (times.touch <= 0) return 'touch'
      const delayMs = Math.min(times.touch, times.apply, times.look)
      const isTimed = delayMs !== Infinity
      await this.#bell.wait(isTimed ? Math.min(delayMs, LONGEST_SLEEP_MS) : undefined, signal)
      this.#isLookStale = true
    }
    return undefined
  }

  #lookAtMs(): number {
    const isAwaited = this.#isAwaited
    if (this.#hasRung) return this.#lookedAtMs + (isAwaited ? 0 : LOOK_INTERVAL_MS)
    // Another process may have what the last look saw, and may give it back without a commit.
    const againAtMs = this.#hasReady && isAwaited ? this.#lookedAtMs + this.#patienceMs : Infinity
    return Math.min(againAtMs, this.#lastLookAtMs)
  }

  /** Until the next instant at which something is due. */
  #leftMs(): number {
    const { lockMs, storeMs } = this.#instants
    const { context } = this.#parts
    const lockLeftMs = lockMs === undefined ? Infinity : lockMs - (context.lockNowMs() ?? Infinity)
    const storeLeftMs = storeMs === undefined ? Infinity : storeMs - context.storeNowMs()
    return Math.min(lockLeftMs, storeLeftMs)
  }

  async #apply(): Promise<void> {
    const { context } = this.#parts
    this.#applied = { lockMs: context.lockNowMs(), storeMs: context.storeNowMs() }
    this.#notBeforeMs = this.#nowMs() + APPLY_INTERVAL_MS
    for (const listening of this.#listenings()) {
      await this.#commands.perform('applyDue', { listening })
    }
  }

  /** On whose behalf it applies what is due. */
  #listenings(): readonly Listening[] {
    if (this.#listened === 'everything') return ['everything']
    const storeMs = this.#parts.context.storeNowMs()
    const due = this.#sessions.filter(({ expiresMs }) => (expiresMs ?? Infinity) <= storeMs)
    return due.length === 0 ? ['nobody'] : due.map(({ session }) => ({ session }))
  }

  async #look(): Promise<void> {
    this.#lastLookAtMs = this.#hasRung ? this.#nowMs() + LAST_LOOK_MS : Infinity
    this.#hasRung = false
    this.#expectedLockMs = undefined
    this.#isLookStale = false
    const looks = await this.#readLooks()
    this.#lookedAtMs = this.#nowMs()
    this.#sessions = looks.sessions
    const { lockMs, storeMs } = nextInstants(looks, this.#listened)
    this.#instants = { lockMs: earliest([lockMs, this.#expectedLockMs]), storeMs }
    const isLeft =
      (lockMs ?? Infinity) <= (this.#applied.lockMs ?? -Infinity) ||
      (storeMs ?? Infinity) <= (this.#applied.storeMs ?? -Infinity)
    this.#hasReady = looks.own.hasReady || looks.sources.some(({ hasReady }) => hasReady)
    if (isLeft || this.#hasReady) this.#beMorePatient()
    else this.#patienceMs = 0
    if (isLeft) this.#notBeforeMs = this.#nowMs() + this.#patienceMs
    this.#wake(looks)
  }

  async #readLooks(): Promise<Looks> {
    const { context, onWatched } = this.#parts
    const record = await this.#readRecord()
    const sourceNumbers = sourcesOf(context, record)
    const numbers = [record.number, ...sourceNumbers]
    onWatched(numbers)
    const engine = await context.engine()
    const held = this.#heldSessions()
    const [looks, sessions] = await Promise.all([
      engine.look(numbers),
      held.length === 0 ? [] : engine.lookSessions(record.number, held),
    ])
    const own = looks.find(({ entity }) => entity === record.number)
    if (own === undefined) throw new MessagingEntityNotFoundError(record.path)
    const others = looks.filter((look) => look !== own)
    return record.kind === 'deadLetter'
      ? { own, sessions, sources: [], owner: others[0] }
      : { own, sessions, sources: others, owner: undefined }
  }

  /** As the broker knows it now. */
  async #readRecord(): Promise<EntityRecord> {
    const { context, record } = this.#parts
    const now = await this.#commands.record()
    // Another one took its place.
    if (now.number !== record.number) throw new MessagingEntityNotFoundError(record.path)
    assertReceivable(now)
    const idleMs = context.directory.idlePeriodOf(now)
    if (idleMs !== this.#idleMs) {
      this.#idleMs = idleMs
      this.#planTouch()
    }
    return now
  }

  #wake({ own, sources, sessions }: Looks): void {
    const { messages, sessions: acceptors } = this.#parts
    if (own.hasReady || sources.some(({ hasReady }) => hasReady)) {
      if (messages.isAwaited) messages.wake()
      if (acceptors.isAwaited) acceptors.wake()
    }
    const ready = new Set(sessions.filter(({ hasReady }) => hasReady).map(({ session }) => session))
    for (const listener of this.#listeners) {
      if (listener.kind === 'session' && ready.has(listener.session)) listener.queue.wake()
    }
  }

  /** The entity or the store is gone: so is this listening. */
  #fail(error: unknown): void {
    const { messages, sessions, onEnd } = this.#parts
    this.#hasEnded = true
    this.#run = undefined
    onEnd()
    messages.fail(error)
    sessions.fail(error)
    for (const listener of this.#listeners) {
      if (listener.kind === 'session') listener.queue.fail(error)
      else if (listener.kind !== 'acceptor') listener.onEnd?.(error)
    }
  }

  get #isAwaited(): boolean {
    const { messages, sessions } = this.#parts
    if (messages.isAwaited || sessions.isAwaited) return true
    for (const listener of this.#listeners) {
      if (listener.kind === 'session' && listener.queue.isAwaited) return true
    }
    return false
  }

  get #listened(): 'everything' | 'sessions' {
    for (const { kind } of this.#listeners) if (kind !== 'session') return 'everything'
    return 'sessions'
  }

  #heldSessions(): readonly string[] {
    return [...this.#listeners].flatMap((one) => (one.kind === 'session' ? [one.session] : []))
  }

  get #commands(): EntityCommands {
    return this.#parts.context.commands(this.#parts.record.path)
  }

  #planTouch(): void {
    this.#touchAtMs = this.isUsed ? this.#nowMs() + (this.#idleMs ?? Infinity) / 10 : Infinity
  }

  #beMorePatient(): void {
    this.#patienceMs = Math.min(LAST_PATIENCE_MS, Math.max(FIRST_PATIENCE_MS, this.#patienceMs * 2))
  }

  #nowMs(): number {
    return this.#parts.context.clock.monotonicMs()
  }
}

/** Entities from which messages come to this one by themselves. */
function sourcesOf(context: BrokerContext, record: EntityRecord): readonly number[] {
  const forwarding = context.directory.sourcesForwardingTo(record)
  const parent = record.parent === undefined ? [] : [record.parent]
  return [...parent, ...forwarding.map(({ number }) => number)]
}
