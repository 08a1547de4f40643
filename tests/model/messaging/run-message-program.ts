import { assertNever } from '@tidemark/contracts/internal'
import { lockToken, type Delivery, type SessionHold } from '@tidemark/store/messages'
import { Difference, expectSame, expectThat } from '../difference.ts'
import { ModelEntity, type ModelMessage } from './message-model.ts'
import {
  SESSIONS,
  TOPIC,
  type MessageProgram,
  type MessageStep,
  type SentMessage,
  type Where,
} from './message-program.ts'
import { entitySettings, isRefused, MessageStage, newMessage, stateName } from './message-stage.ts'
import type { MessagingEnvironment } from './messaging-environment.ts'

export interface MessageFailure {
  readonly step: number
  readonly message: string
}

type StepOf<Kind extends MessageStep['kind']> = Extract<MessageStep, { kind: Kind }>

/** A lock token that was given out, and the message that it was given for. */
interface Token {
  readonly text: string
  readonly digits: string
  readonly where: Where
  readonly message: ModelMessage
}

const REST_MS = 1_000_000
let programs = 0

/** Runs a program in the store and in the model. Undefined: they agree. */
export async function runMessageProgram(
  environment: MessagingEnvironment,
  program: MessageProgram,
): Promise<MessageFailure | undefined> {
  await environment.begin()
  environment.clock.step(REST_MS)
  const run = new ProgramRun(environment, program)
  await run.create()
  let step = -1
  try {
    for (step = 0; step < program.steps.length; step++) {
      const next = program.steps[step]
      if (next !== undefined) await run.perform(next)
      await run.compare(next?.via ?? 0)
    }
    expectSame('contradictions between rows', await environment.check(), [])
    return undefined
  } catch (error) {
    if (!(error instanceof Difference)) throw error
    return { step, message: `step ${step}: ${error.message}` }
  } finally {
    await run.end()
  }
}

class ProgramRun {
  readonly #environment: MessagingEnvironment
  readonly #program: MessageProgram
  readonly #stage: MessageStage
  readonly #entities: readonly ModelEntity[]
  readonly #tokens: Token[] = []
  readonly #holds: SessionHold[] = []
  #locks = 0
  #sent = 0

  constructor(environment: MessagingEnvironment, program: MessageProgram) {
    this.#environment = environment
    this.#program = program
    this.#stage = new MessageStage(environment, `p${++programs}`)
    const ceilingMs = program.settings[TOPIC]?.defaultTtlMs
    this.#entities = program.settings.map(
      (settings, at) => new ModelEntity(settings, at === 2 || at === 3 ? ceilingMs : undefined),
    )
  }

  create(): Promise<void> {
    return this.#stage.create(this.#program.settings)
  }

  async end(): Promise<void> {
    for (const entity of [0, 1, TOPIC]) {
      const { number } = this.#stage.record({ entity, isDead: false })
      await this.#stage.perform<'delete'>(0, { kind: 'delete', entity: number, when: 'always' })
    }
    while ((await this.#stage.perform<'purge'>(0, { kind: 'purge' })).more) continue
  }

  async perform(step: MessageStep): Promise<void> {
    switch (step.kind) {
      case 'send':
        return this.#send(step)
      case 'receive':
        return this.#receive(step)
      case 'discard':
        return this.#discard(step)
      case 'receiveInSession':
        return this.#receiveInSession(step)
      case 'settle':
        return this.#settle(step)
      case 'renew':
        return this.#renew(step)
      case 'receiveDeferred':
        return this.#receiveDeferred(step)
      case 'cancel':
        return this.#cancel(step)
      case 'accept':
        return this.#accept(step)
      case 'renewSession':
      case 'releaseSession':
      case 'setState':
        return this.#useHold(step)
      case 'listen':
        return this.#listen(step)
      case 'redrive':
        return this.#redrive(step)
      case 'setTtl':
        return this.#setTtl(step)
      case 'pass':
        this.#environment.clock.step(step.ms)
        return this.#activateTopic(step.via)
      case 'reopen':
        return this.#environment.reopen(step.via)
      default:
        return assertNever(step)
    }
  }

  /** Everything that can be peeked. Dead letters that came together may stand in either order. */
  async compare(via: number): Promise<void> {
    for (let entity = 0; entity < TOPIC; entity++) {
      const model = this.#entity(entity)
      model.applyDue(this.#now, 'nobody')
      for (const isDead of [false, true]) {
        const where = { entity, isDead }
        const found = (await this.#stage.peek(via, where)).map((message) => ({
          name: message.head,
          number: message.number,
          state: stateName(message.state),
          isLocked: message.isLocked,
          deliveries: message.deliveries,
          enqueuedMs: this.#stage.sinceBegin(message.enqueuedMs),
          expiresMs: this.#stage.sinceBegin(message.expiresMs),
          session: isDead || entity !== SESSIONS ? undefined : message.session,
          reason: isDead ? reasonIn(message.changes) : undefined,
        }))
        if (isDead) adoptNumbers(model.dead, found)
        const wanted = model
          .list(where)
          .toSorted((a, b) => a.number - b.number)
          .map((message) => ({
            name: message.name,
            number: message.number,
            state: message.state,
            isLocked: message.lock !== undefined,
            deliveries: message.deliveries,
            enqueuedMs: message.enqueuedMs,
            expiresMs: message.expiresMs,
            session: isDead || entity !== SESSIONS ? undefined : message.session,
            reason: isDead ? message.reason : undefined,
          }))
        expectSame(`entity ${entity}${isDead ? ', dead letters' : ''}`, found, wanted)
      }
    }
  }

  get #now(): number {
    return this.#stage.nowMs
  }

  #entity(at: number): ModelEntity {
    const entity = this.#entities[at]
    if (entity === undefined) throw new RangeError(`no entity ${at}`)
    return entity
  }

  #lock(): string {
    return (++this.#locks).toString(16).padStart(20, '0')
  }

  async #send({ via, entity, messages }: StepOf<'send'>): Promise<void> {
    const model = this.#entity(entity)
    const now = this.#now
    const isTopic = entity === TOPIC
    model.applyDue(now, 'nobody')
    const made = messages.map((message) => this.#made(message))
    const answer = await this.#stage.perform<'send'>(via, {
      kind: 'send',
      ...this.#stage.on({ entity, isDead: false }),
      version: this.#stage.record({ entity, isDead: false }).version,
      parcels: [
        {
          messages: messages.map((message, at) => {
            const { scheduledInMs, messageId, ttlMs } = message
            return newMessage({
              head: made[at]?.name ?? '',
              messageId,
              ttlMs,
              session: entity === SESSIONS ? message.session : undefined,
              scheduledMs:
                scheduledInMs === undefined ? undefined : this.#stage.storeMs(now + scheduledInMs),
              copies: isTopic ? this.#stage.copies() : [],
            })
          }),
        },
      ],
    })
    const numbers = messages.map((message, at) => {
      const model_ = made[at]
      if (model_ === undefined || model.isDuplicate(message, now)) return undefined
      const { scheduledInMs = 0 } = message
      if (scheduledInMs > 0) model.schedule(model_, now + scheduledInMs)
      else if (isTopic) this.#fanOut(model_, now)
      else model.enqueue(model_, now)
      return isTopic && scheduledInMs <= 0 ? model.next++ : model_.number
    })
    expectSame('send', answer, { kind: 'sent', parcels: [{ kind: 'sent', numbers }] })
  }

  #made({ messageId, session, ttlMs }: SentMessage): ModelMessage {
    return {
      name: `m${this.#sent++}`,
      messageId,
      session,
      number: 0,
      state: 'active',
      enqueuedMs: 0,
      ttlMs: undefined,
      expiresMs: undefined,
      scheduledMs: undefined,
      sentTtlMs: ttlMs,
      lock: undefined,
      deliveries: 0,
      reason: undefined,
    }
  }

  #fanOut(message: ModelMessage, atMs: number): void {
    for (const at of [2, 3]) {
      this.#entity(at).applyDue(this.#now, 'nobody')
      this.#entity(at).enqueue({ ...message }, atMs)
    }
  }

  /** What is scheduled to the topic reaches the subscriptions. */
  async #activateTopic(via: number): Promise<void> {
    const topic = this.#entity(TOPIC)
    const where = { entity: TOPIC, isDead: false }
    const read = await this.#stage.perform<'readDue'>(via, {
      kind: 'readDue',
      ...this.#stage.on(where),
      max: 100,
    })
    expectThat(read.kind === 'messages', () => `readDue: ${JSON.stringify(read)}`)
    if (read.kind !== 'messages') return
    const due = topic.messages
      .filter(({ scheduledMs }) => scheduledMs !== undefined && scheduledMs <= this.#now)
      .toSorted((a, b) => (a.scheduledMs ?? 0) - (b.scheduledMs ?? 0) || a.number - b.number)
    const names = due.map(({ name }) => name)
    expectSame(
      'due in the topic',
      read.messages.map(({ head }) => head).toSorted(),
      names.toSorted(),
    )
    const answer = await this.#stage.perform<'activate'>(via, {
      kind: 'activate',
      ...this.#stage.on(where),
      version: this.#stage.record(where).version,
      messages: read.messages.map(({ number }) => ({ number, copies: this.#stage.copies() })),
    })
    expectSame('activate', answer, { kind: 'activated' })
    for (const message of due) {
      topic.remove(message)
      topic.next++
      this.#fanOut(message, message.scheduledMs ?? 0)
    }
  }

  async #receive({ via, where, max, deletes }: StepOf<'receive'>): Promise<void> {
    const model = this.#entity(where.entity)
    const lock = this.#lock()
    const answer = await this.#stage.perform<'receive'>(via, {
      kind: 'receive',
      ...this.#stage.on(where),
      hold: undefined,
      requests: [{ mode: deletes ? 'receiveAndDelete' : 'peekLock', max, maxBytes: 1e9, lock }],
    })
    if (where.entity === SESSIONS && !where.isDead) {
      expectSame('receive without a session', answer, {
        kind: 'refused',
        reason: 'otherSessionUse',
      })
      return
    }
    model.applyDue(this.#now, where.isDead ? 'nobody' : 'everything')
    const deliveries = isRefused(answer) ? [] : (answer.deliveries[0] ?? [])
    const untilMs = this.#now + model.settings.lockDurationMs
    this.#take(where, deliveries, { max, lock: deletes ? undefined : lock, untilMs })
  }

  async #discard({ via, entity, of, max }: StepOf<'discard'>): Promise<void> {
    const model = this.#entity(entity)
    model.applyDue(this.#now, 'nobody')
    // Also those that have expired and have not left.
    const waiting = model.ready({ isDead: false }, -Infinity).slice(0, max)
    const before = waiting[of % Math.max(1, waiting.length)]?.enqueuedMs ?? this.#now
    const answer = await this.#stage.perform<'discard'>(via, {
      kind: 'discard',
      ...this.#stage.on({ entity, isDead: false }),
      hold: undefined,
      max,
      beforeMs: this.#stage.storeMs(before),
    })
    if (entity === SESSIONS) {
      expectSame('discard without a session', answer, {
        kind: 'refused',
        reason: 'otherSessionUse',
      })
      return
    }
    const old = waiting.filter(({ enqueuedMs }) => enqueuedMs < before)
    expectSame('discarded', answer, { kind: 'discarded', count: old.length })
    for (const message of old) model.remove(message)
  }

  async #receiveInSession({ via, of, max }: StepOf<'receiveInSession'>): Promise<void> {
    const hold = this.#holds.at(-1 - (of % Math.max(1, Math.min(3, this.#holds.length))))
    if (hold === undefined) return
    const where = { entity: SESSIONS, isDead: false }
    const model = this.#entity(SESSIONS)
    const answer = await this.#stage.perform<'receive'>(via, {
      kind: 'receive',
      ...this.#stage.on(where),
      hold,
      requests: [{ mode: 'peekLock', max, maxBytes: 1e9, lock: this.#lock() }],
    })
    if (!this.#isHeld(hold, { session: hold.session })) {
      expectSame('receive', answer, { kind: 'refused', reason: 'sessionLockLost' })
      return
    }
    const deliveries = isRefused(answer) ? [] : (answer.deliveries[0] ?? [])
    expectThat(!isRefused(answer), () => `receive was refused: ${JSON.stringify(answer)}`)
    const { untilMs } = model.session(hold.session)
    this.#take(where, deliveries, { max, lock: hold.lock, untilMs, session: hold.session })
  }

  #take(
    where: Where,
    deliveries: readonly Delivery[],
    given: { max: number; lock: string | undefined; untilMs: number; session?: string },
  ): void {
    const model = this.#entity(where.entity)
    // Numbers of dead letters that just came together are the store's choice.
    const ready = model.ready(where, this.#now, given.session).slice(0, given.max)
    const found = deliveries.map(({ message, lockedUntilMs }) => ({
      name: where.isDead ? undefined : message.head,
      deliveries: where.isDead ? undefined : message.deliveries,
      lockedUntilMs: this.#stage.sinceBegin(lockedUntilMs),
    }))
    const wanted = ready.map(({ name, deliveries: count }) => ({
      name: where.isDead ? undefined : name,
      deliveries: where.isDead ? undefined : count,
      lockedUntilMs: given.lock === undefined ? undefined : given.untilMs,
    }))
    expectSame('received', found, wanted)
    for (const { message } of deliveries) {
      const taken = model.list(where).find(({ name }) => name === message.head)
      expectThat(taken !== undefined, () => `${message.head} is not there`)
      if (taken === undefined) continue
      if (given.lock === undefined) {
        model.remove(taken)
        continue
      }
      const untilMs = given.session === undefined ? given.untilMs : undefined
      taken.lock = { digits: given.lock, untilMs }
      const text = lockToken(message.id, given.lock)
      this.#tokens.push({ text, digits: given.lock, where, message: taken })
    }
  }

  #token(of: number): Token | undefined {
    return this.#tokens.at(-1 - (of % Math.max(1, Math.min(6, this.#tokens.length))))
  }

  async #settle({ via, of, outcome }: StepOf<'settle'>): Promise<void> {
    const token = this.#token(of)
    if (token === undefined) return
    const { where, message } = token
    const model = this.#entity(where.entity)
    const answer = await this.#stage.perform<'settle'>(via, {
      kind: 'settle',
      ...this.#stage.on(where),
      dispositions: [
        {
          token: token.text,
          outcome: {
            kind: outcome,
            changes: undefined,
            reason: 'because',
            description: undefined,
          },
        },
      ],
    })
    model.applyDue(this.#now, 'nobody')
    const lost = this.#whyLost(token)
    const isRefusedHere = outcome === 'deadLetter' && where.isDead
    const wanted = lost ?? (isRefusedHere ? 'notAllowed' : 'settled')
    expectSame(`${outcome} ${message.name}`, answer, { kind: 'settled', answers: [wanted] })
    if (wanted !== 'settled') return
    switch (outcome) {
      case 'complete':
        return model.remove(message)
      case 'abandon':
        return model.giveBack(message, this.#now, { counts: true })
      case 'release':
        return model.giveBack(message, this.#now, { counts: false })
      case 'defer':
        message.state = 'deferred'
        message.lock = undefined
        return
      case 'deadLetter':
        return model.kill(message, 'because')
    }
  }

  /** By the rules, why a token does not settle any more; undefined: it does. */
  #whyLost({ where, message, digits }: Token): 'lockLost' | 'sessionLockLost' | undefined {
    const model = this.#entity(where.entity)
    if (!model.list(where).includes(message)) return 'lockLost'
    if (where.entity === SESSIONS && !where.isDead) {
      const session = model.session(message.session)
      if (session.lock !== digits || session.untilMs <= this.#now) return 'sessionLockLost'
    }
    return message.lock?.digits === digits ? undefined : 'lockLost'
  }

  async #renew({ via, of }: StepOf<'renew'>): Promise<void> {
    const token = this.#token(of)
    if (token === undefined || (token.where.entity === SESSIONS && !token.where.isDead)) return
    const { where, message } = token
    const model = this.#entity(where.entity)
    const answer = await this.#stage.perform<'renew'>(via, {
      kind: 'renew',
      ...this.#stage.on(where),
      tokens: [token.text],
    })
    model.applyDue(this.#now, 'nobody')
    const untilMs = this.#now + model.settings.lockDurationMs
    const wanted = this.#whyLost(token) ?? this.#stage.storeMs(untilMs)
    expectSame('renew', answer, { kind: 'renewed', lockedUntilMs: [wanted] })
    if (typeof wanted === 'number') message.lock = { digits: token.digits, untilMs }
  }

  async #receiveDeferred({ via, where, of }: StepOf<'receiveDeferred'>): Promise<void> {
    if (where.entity === SESSIONS && !where.isDead) return
    const model = this.#entity(where.entity)
    model.applyDue(this.#now, 'nobody')
    const all = model.list(where)
    const message = all[of % Math.max(1, all.length)]
    if (message === undefined) return
    const lock = this.#lock()
    const answer = await this.#stage.perform<'receiveDeferred'>(via, {
      kind: 'receiveDeferred',
      ...this.#stage.on(where),
      hold: undefined,
      mode: 'peekLock',
      lock,
      numbers: [message.number],
      maxBytes: 1_000_000,
    })
    if (message.state !== 'deferred' || message.lock !== undefined) {
      expectSame('receive deferred', answer, { kind: 'notFound', number: message.number })
      return
    }
    expectThat(answer.kind === 'received', () => `deferred: ${JSON.stringify(answer)}`)
    if (answer.kind !== 'received') return
    expectSame(
      'received deferred',
      answer.deliveries.map((each) => each.message.head),
      [message.name],
    )
    message.lock = { digits: lock, untilMs: this.#now + model.settings.lockDurationMs }
    const id = answer.deliveries[0]?.message.id ?? 0
    this.#tokens.push({ text: lockToken(id, lock), digits: lock, where, message })
  }

  async #cancel({ via, entity, of }: StepOf<'cancel'>): Promise<void> {
    const model = this.#entity(entity)
    model.applyDue(this.#now, 'nobody')
    const scheduled = model.messages.filter(({ state }) => state === 'scheduled')
    const among = of % 3 === 0 ? model.messages : scheduled
    const message = among[of % Math.max(1, among.length)]
    if (message === undefined) return
    const answer = await this.#stage.perform<'cancel'>(via, {
      kind: 'cancel',
      ...this.#stage.on({ entity, isDead: false }),
      numbers: [message.number],
    })
    const isThere = message.state === 'scheduled'
    expectSame(
      'cancel',
      answer,
      isThere ? { kind: 'cancelled' } : { kind: 'notFound', number: message.number },
    )
    if (isThere) model.remove(message)
  }

  async #accept({ via, session }: StepOf<'accept'>): Promise<void> {
    const model = this.#entity(SESSIONS)
    const lock = this.#lock()
    const answer = await this.#stage.perform<'acceptSession'>(via, {
      kind: 'acceptSession',
      ...this.#stage.on({ entity: SESSIONS, isDead: false }),
      lock,
      session: session === undefined ? { after: '' } : { named: session },
    })
    model.applyDue(this.#now, session === undefined ? 'everything' : { session })
    const isFree = (name: string): boolean => model.session(name).lock === undefined
    const offered = new Set(
      model
        .ready({ isDead: false }, this.#now)
        .map((message) => message.session)
        .filter(isFree),
    )
    if (answer.kind === 'accepted') {
      const { session: got } = answer
      expectThat(
        session === undefined ? offered.has(got) : got === session && isFree(got),
        () => `accepted ${got}, offered ${[...offered].join(', ')}`,
      )
      const untilMs = this.#now + model.settings.lockDurationMs
      expectSame('accepted until', this.#stage.sinceBegin(answer.lockedUntilMs), untilMs)
      Object.assign(model.session(got), { lock, untilMs })
      this.#holds.push({ session: got, lock })
      return
    }
    if (session !== undefined) expectThat(!isFree(session), () => `${session} was refused`)
    else expectSame('free sessions', [...offered], [])
    expectSame('accept', answer, { kind: session === undefined ? 'none' : 'taken' })
  }

  async #useHold(step: StepOf<'renewSession' | 'releaseSession' | 'setState'>): Promise<void> {
    const hold = this.#holds.at(-1 - (step.of % Math.max(1, Math.min(3, this.#holds.length))))
    if (hold === undefined) return
    const model = this.#entity(SESSIONS)
    const session = model.session(hold.session)
    const on = this.#stage.on({ entity: SESSIONS, isDead: false })
    const answer =
      step.kind === 'setState'
        ? await this.#stage.perform<'setSessionState'>(step.via, {
            kind: 'setSessionState',
            ...on,
            hold,
            state: step.text === undefined ? undefined : new TextEncoder().encode(step.text),
          })
        : await this.#stage.perform<'renewSession' | 'releaseSession'>(step.via, {
            kind: step.kind,
            ...on,
            hold,
          })
    if (!this.#isHeld(hold, 'nobody')) {
      expectThat(isRefused(answer) || answer.kind === 'released', () => `${step.kind} was done`)
      return
    }
    expectThat(!isRefused(answer), () => `${step.kind}: ${JSON.stringify(answer)}`)
    if (step.kind === 'setState') {
      session.state = step.text
      const read = await this.#stage.perform<'readSessionState'>(step.via, {
        kind: 'readSessionState',
        ...on,
        hold,
      })
      const text =
        isRefused(read) || read.state === undefined ? undefined : Buffer.from(read.state).toString()
      expectSame('state', text, step.text)
    } else if (step.kind === 'renewSession') {
      session.untilMs = this.#now + model.settings.lockDurationMs
    } else model.endHold(session, { atMs: this.#now, counts: false })
  }

  #isHeld(hold: SessionHold, listening: 'nobody' | { readonly session: string }): boolean {
    const model = this.#entity(SESSIONS)
    model.applyDue(this.#now, 'nobody')
    const { lock, untilMs } = model.session(hold.session)
    const isHeld = lock === hold.lock && untilMs > this.#now
    if (isHeld) model.applyDue(this.#now, listening)
    return isHeld
  }

  async #listen({ via, entity }: StepOf<'listen'>): Promise<void> {
    await this.#stage.perform<'applyDue'>(via, {
      kind: 'applyDue',
      ...this.#stage.on({ entity, isDead: false }),
      listening: 'everything',
    })
    this.#entity(entity).applyDue(this.#now, 'everything')
  }

  async #redrive({ via, entity, of }: StepOf<'redrive'>): Promise<void> {
    const model = this.#entity(entity)
    model.applyDue(this.#now, 'nobody')
    const message = model.dead[of % Math.max(1, model.dead.length)]
    if (message === undefined) return
    const answer = await this.#stage.perform<'redrive'>(via, {
      kind: 'redrive',
      ...this.#stage.on({ entity, isDead: true }),
      messages: [
        {
          number: message.number,
          session: entity === SESSIONS ? message.session : undefined,
        },
      ],
    })
    const isWaiting = message.state === 'active' && message.lock === undefined
    const numbers = isWaiting ? [message.number] : []
    expectSame('redrive', answer, { kind: 'redriven', numbers })
    if (!isWaiting) return
    model.remove(message)
    const again = { ...message, sentTtlMs: message.ttlMs, deliveries: 0, reason: undefined }
    model.enqueue(again, this.#now)
  }

  async #setTtl({ via, entity, ttlMs }: StepOf<'setTtl'>): Promise<void> {
    const model = this.#entity(entity)
    const { number, version } = this.#stage.record({ entity, isDead: false })
    const settings = { ...model.settings, defaultTtlMs: ttlMs }
    const answer = await this.#stage.perform<'update'>(via, {
      kind: 'update',
      entity: number,
      version,
      definition: { settings: entitySettings(settings), rules: [] },
    })
    expectSame('update', answer.kind, 'updated')
    model.settings = settings
    await this.#stage.refresh()
  }
}

/** Dead letters that came at the same instant may have each other's numbers; there are no gaps. */
function adoptNumbers(
  dead: readonly ModelMessage[],
  found: readonly { readonly name: string; readonly number: number }[],
): void {
  const numbers = dead.map(({ number }) => number).toSorted((a, b) => a - b)
  expectSame(
    'numbers of dead letters',
    found.map(({ number }) => number),
    numbers,
  )
  for (const message of dead) {
    message.number = found.find(({ name }) => name === message.name)?.number ?? message.number
  }
}

function reasonIn(changes: string | undefined): string | undefined {
  const parsed: unknown = JSON.parse(changes ?? '{}')
  const { properties } = parsed as { properties?: Record<string, string> }
  return properties?.['DeadLetterReason']
}
