import type { ModelSettings, SentMessage, Where } from './message-program.ts'

export type State = 'active' | 'deferred' | 'scheduled'

/** A message as the rules see it. Times are ms since the program's beginning. */
export interface ModelMessage {
  readonly name: string
  messageId: string
  session: string
  number: number
  state: State
  enqueuedMs: number
  ttlMs: number | undefined
  expiresMs: number | undefined
  scheduledMs: number | undefined
  /** As the sender gave it, for when it is enqueued. */
  sentTtlMs: number | undefined
  lock: { readonly digits: string; untilMs: number | undefined } | undefined
  deliveries: number
  reason: string | undefined
}

export interface ModelSession {
  readonly name: string
  lock: string | undefined
  untilMs: number
  state: string | undefined
}

/** One queue or subscription. The dead-letter queue is a list that only grows at its end. */
export class ModelEntity {
  settings: ModelSettings
  next = 1
  deadNext = 1
  messages: ModelMessage[] = []
  dead: ModelMessage[] = []
  readonly sessions = new Map<string, ModelSession>()
  readonly seen = new Map<string, number>()
  readonly ceilingMs: number | undefined

  /** `ceilingMs`: of the topic. */
  constructor(settings: ModelSettings, ceilingMs?: number) {
    this.settings = settings
    this.ceilingMs = ceilingMs
  }

  session(name: string): ModelSession {
    let session = this.sessions.get(name)
    if (session === undefined) {
      session = { name, lock: undefined, untilMs: 0, state: undefined }
      this.sessions.set(name, session)
    }
    return session
  }

  list({ isDead }: Pick<Where, 'isDead'>): ModelMessage[] {
    return isDead ? this.dead : this.messages
  }

  /** Puts a message in as if it were sent now. */
  enqueue(message: ModelMessage, nowMs: number): void {
    message.number = this.next++
    message.state = 'active'
    message.enqueuedMs = nowMs
    message.scheduledMs = undefined
    message.ttlMs = least(message.sentTtlMs, this.settings.defaultTtlMs, this.ceilingMs)
    message.expiresMs = message.ttlMs === undefined ? undefined : nowMs + message.ttlMs
    this.messages.push(message)
  }

  /** The ceiling is applied now, and that of the day once more when it is enqueued. */
  schedule(message: ModelMessage, scheduledMs: number): void {
    message.number = this.next++
    message.sentTtlMs = least(message.sentTtlMs, this.settings.defaultTtlMs)
    message.state = 'scheduled'
    message.scheduledMs = scheduledMs
    message.enqueuedMs = scheduledMs
    this.messages.push(message)
  }

  remove(message: ModelMessage): void {
    this.messages = this.messages.filter((other) => other !== message)
    this.dead = this.dead.filter((other) => other !== message)
  }

  /** A message that was seen within the window is a duplicate; otherwise it is remembered. */
  isDuplicate({ messageId }: SentMessage, nowMs: number): boolean {
    const { duplicateWindowMs } = this.settings
    if (duplicateWindowMs === undefined) return false
    const untilMs = this.seen.get(messageId)
    if (untilMs !== undefined && untilMs > nowMs) return true
    this.seen.set(messageId, nowMs + duplicateWindowMs)
    return false
  }

  /** Dead letters get the next numbers in the order in which they die. */
  kill(message: ModelMessage, reason: string): void {
    this.remove(message)
    message.number = this.deadNext++
    message.state = 'active'
    message.lock = undefined
    message.reason = reason
    this.dead.push(message)
  }

  expire(message: ModelMessage): void {
    if (this.settings.deadLettersExpired) this.kill(message, 'TTLExpiredException')
    else this.remove(message)
  }

  /** A lock ends at this instant. */
  giveBack(message: ModelMessage, atMs: number, { counts }: { readonly counts: boolean }): void {
    message.lock = undefined
    if (this.dead.includes(message)) return
    if (counts) message.deliveries++
    const { expiresMs, state } = message
    if (state !== 'deferred' && expiresMs !== undefined && expiresMs <= atMs) this.expire(message)
    else if (counts && message.deliveries >= this.settings.maxDeliveryCount) {
      this.kill(message, 'MaxDeliveryCountExceeded')
    }
  }

  /** Applies ends of locks, activations, and, if somebody listens, expiries that have come by now. */
  applyDue(nowMs: number, listening: 'nobody' | 'everything' | { readonly session: string }): void {
    for (;;) {
      const event = this.#nextEvent(nowMs, listening)
      if (event === undefined) break
      event()
    }
    if (this.settings.requiresSession && listening !== 'nobody') {
      const names =
        listening === 'everything'
          ? new Set(this.messages.map(({ session }) => session))
          : new Set([listening.session])
      for (const name of [...names].sort()) this.#expireSession(name, nowMs)
    }
    for (const message of this.dead) {
      const untilMs = message.lock?.untilMs
      if (untilMs !== undefined && untilMs <= nowMs) {
        this.giveBack(message, untilMs, { counts: true })
      }
    }
  }

  /** One waiting message that has expired takes all waiting ones of its session with it. */
  #expireSession(name: string, nowMs: number): void {
    const waiting = this.messages.filter(
      ({ session, state, lock }) => session === name && state === 'active' && lock === undefined,
    )
    if (waiting.every(({ expiresMs }) => expiresMs === undefined || expiresMs > nowMs)) return
    for (const message of waiting) this.expire(message)
  }

  #nextEvent(
    nowMs: number,
    listening: 'nobody' | 'everything' | { readonly session: string },
  ): (() => void) | undefined {
    let best: { atMs: number; number: number; act: () => void } | undefined
    const offer = (atMs: number | undefined, number: number, act: () => void): void => {
      if (atMs === undefined || atMs > nowMs) return
      const isSooner =
        best === undefined || atMs < best.atMs || (atMs === best.atMs && number < best.number)
      if (isSooner) best = { atMs, number, act }
    }
    for (const message of this.messages) {
      const { number, lock, state, scheduledMs, expiresMs } = message
      const untilMs = lock?.untilMs
      offer(untilMs, number, () => this.giveBack(message, untilMs ?? 0, { counts: true }))
      offer(scheduledMs, number, () => {
        this.remove(message)
        this.enqueue(message, scheduledMs ?? 0)
      })
      const mayExpire =
        listening !== 'nobody' && !this.settings.requiresSession && state === 'active' && !lock
      if (mayExpire) offer(expiresMs, number, () => this.expire(message))
    }
    for (const session of this.sessions.values()) {
      if (session.lock === undefined) continue
      const { untilMs } = session
      offer(untilMs, 0, () => this.endHold(session, { atMs: untilMs, counts: true }))
    }
    return best?.act
  }

  /** The lock of a session ends: by its time, or because its holder lets go. */
  endHold(
    session: ModelSession,
    { atMs, counts }: { readonly atMs: number; readonly counts: boolean },
  ): void {
    const { lock } = session
    session.lock = undefined
    const held = this.messages.filter(
      (message) => message.session === session.name && message.lock?.digits === lock,
    )
    for (const message of held) this.giveBack(message, atMs, { counts })
  }

  /** Those that a receiver may get now, in order. */
  ready({ isDead }: Pick<Where, 'isDead'>, nowMs: number, session?: string): ModelMessage[] {
    return this.list({ isDead })
      .filter(
        (message) =>
          message.state === 'active' &&
          message.lock === undefined &&
          (session === undefined || message.session === session) &&
          (isDead || message.expiresMs === undefined || message.expiresMs > nowMs),
      )
      .toSorted((a, b) => a.number - b.number)
  }
}

function least(...values: readonly (number | undefined)[]): number | undefined {
  const given = values.filter((value) => value !== undefined)
  return given.length === 0 ? undefined : Math.min(...given)
}
