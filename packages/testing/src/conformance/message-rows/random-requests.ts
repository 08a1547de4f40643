import {
  ACTIVE,
  DEFERRED,
  SCHEDULED,
  type MessageRow,
  type NewMessageRow,
  type RowRequest,
} from '@tidemark/store/messages'
import type { SeededRandom } from '../../simulation/time/seeded-random.ts'
import type { ModelRows } from './model-rows.ts'

const NAMES = ['a', 'b', 'c', 'd'] as const
/** Instants and numbers lie close together, so that ranges have ends in the middle of what is there. */
const LAST_MS = 60

/** Draws requests that rows of real commands allow, and of which many meet each other. */
export class RandomRequests {
  readonly #random: SeededRandom
  readonly #model: ModelRows
  readonly #entities: { readonly plain: number; readonly sessions: number }
  #nextNumber = 1
  #claimMs = 0

  constructor(
    random: SeededRandom,
    model: ModelRows,
    entities: { readonly plain: number; readonly sessions: number },
  ) {
    this.#random = random
    this.#model = model
    this.#entities = entities
  }

  /** Of one of the two entities. */
  next(): RowRequest {
    const random = this.#random
    const hasSessions = random.chance(0.5)
    const entity = hasSessions ? this.#entities.sessions : this.#entities.plain
    return random.chance(0.45)
      ? this.#change(entity, hasSessions)
      : random.chance(hasSessions ? 0.5 : 0)
        ? this.#readSessions(entity)
        : this.#read(entity, hasSessions)
  }

  #change(entity: number, hasSessions: boolean): RowRequest {
    const random = this.#random
    const draw = random.below(10)
    if (draw < 3) {
      const rows = Array.from({ length: random.between(1, 4) }, () =>
        this.#row(entity, hasSessions),
      )
      return { kind: 'insert', values: [rows] }
    }
    if (draw < 5) return this.#take(entity, hasSessions)
    if (draw < 6)
      return {
        kind: 'remove',
        values: [
          this.#some(entity)
            .slice(0, 2)
            .map(({ id }) => id),
        ],
      }
    if (draw < 8 && hasSessions) return this.#changeSession(entity)
    if (draw < 9) {
      // What has been forgotten was over, and the clock does not go back.
      const storeMs = (this.#claimMs += random.below(4))
      const ids = Array.from({ length: 3 }, () => random.pick([...NAMES, 'e', 'f']))
      const request = { entity, ids, untilMs: storeMs + random.between(1, 20), storeMs }
      return { kind: 'claimIds', values: [request] }
    }
    const rows = this.#some(entity).slice(0, 3)
    const changed = rows.map((row): MessageRow => {
      return { ...row, ...this.#fate(hasSessions), deliveries: row.deliveries + 1, changes: '{}' }
    })
    return { kind: 'change', values: [changed] }
  }

  #take(entity: number, hasSessions: boolean): RowRequest {
    const random = this.#random
    const deletes = random.chance(0.3)
    const request = {
      entity,
      session: hasSessions ? random.pick(NAMES) : undefined,
      afterNumber: hasSessions ? random.below(this.#nextNumber) : 0,
      notExpiredAtMs: random.chance(0.5) ? this.#instant() : undefined,
      max: random.between(1, 5),
      maxBytes: random.between(1, 300),
      deletes,
      locks: Array.from({ length: deletes ? 0 : random.below(4) }, () => this.#lock()),
      dueMs: hasSessions ? undefined : this.#instant(),
    }
    return { kind: 'take', values: [request] }
  }

  #changeSession(entity: number): RowRequest {
    const random = this.#random
    const isHeld = random.chance(0.5)
    const row = {
      entity,
      session: random.pick(NAMES),
      lock: isHeld ? this.#lock() : undefined,
      lockedUntilMs: isHeld ? this.#instant() : 0,
      state: random.chance(0.3) ? new Uint8Array(random.below(3)) : undefined,
      expiredThrough: random.chance(0.3) ? random.below(this.#nextNumber) : 0,
      updatedMs: this.#instant(),
    }
    return { kind: 'changeSession', values: [row] }
  }

  #read(entity: number, hasSessions: boolean): RowRequest {
    const random = this.#random
    const session = hasSessions && random.chance(0.5) ? random.pick(NAMES) : undefined
    const max = random.between(1, 5)
    const some = this.#some(entity).slice(0, 4)
    const fromNumber = random.below(this.#nextNumber)
    const storeMs = this.#instant()
    return random.pick<RowRequest>([
      { kind: 'sessionsOf', values: [some.map(({ id }) => id)] },
      { kind: 'messagesById', values: [some.map(({ id }) => id)] },
      { kind: 'dueRows', values: [entity, { storeMs, lockMs: this.#instant() }, max] },
      { kind: 'expiredRows', values: [{ entity, session, storeMs, max }] },
      { kind: 'peek', values: [{ entity, session, fromNumber, max, maxBytes: max * 60 }] },
      { kind: 'look', values: [entity] },
      { kind: 'count', values: [entity, storeMs] },
    ])
  }

  #readSessions(entity: number): RowRequest {
    const random = this.#random
    const session = random.pick(NAMES)
    const max = random.between(1, 5)
    const through = random.below(this.#nextNumber)
    const after = random.pick(['', ...NAMES])
    return random.pick<RowRequest>([
      { kind: 'expiredSessions', values: [entity, this.#instant(), max] },
      { kind: 'sessionRows', values: [{ entity, session, max, which: 'waiting', through }] },
      {
        kind: 'sessionRows',
        values: [{ entity, session, max, which: 'locked', lock: this.#lock() }],
      },
      { kind: 'lookSessions', values: [entity, NAMES.slice(random.below(3))] },
      { kind: 'holdSession', values: [entity, session] },
      { kind: 'nextSession', values: [entity, after, this.#instant()] },
      { kind: 'endedSessions', values: [entity, this.#instant(), max] },
      { kind: 'expiringSessions', values: [entity, max] },
      { kind: 'listSessions', values: [entity, after, max] },
    ])
  }

  #row(entity: number, hasSessions: boolean): NewMessageRow {
    const random = this.#random
    const number = this.#nextNumber++
    const body = new Uint8Array(random.below(3)).fill(number)
    return {
      entity,
      number,
      session: hasSessions ? random.pick(NAMES) : undefined,
      // The oldest one is the one with the lowest number.
      enqueuedMs: number,
      ttlMs: random.chance(0.5) ? 5_000_000_000 : undefined,
      deliveries: 0,
      firstNumber: number,
      hops: random.below(3),
      deadLetterSource: random.chance(0.2) ? 'orders' : undefined,
      changes: undefined,
      bytes: random.between(20, 120),
      head: `{"number":${number}}`,
      body,
      ...this.#fate(hasSessions),
    }
  }

  /** Where a row is in its life. A lock in a session has no end of its own. */
  #fate(hasSessions: boolean): Pick<MessageRow, 'state' | 'lock' | 'dueMs' | 'expiresMs'> {
    const random = this.#random
    const draw = random.below(10)
    const state = draw < 7 ? ACTIVE : draw < 8 ? DEFERRED : SCHEDULED
    const lock = state !== SCHEDULED && random.chance(0.3) ? this.#lock() : undefined
    const hasEnd = state === SCHEDULED || (lock !== undefined && !hasSessions)
    return {
      state,
      lock,
      dueMs: hasEnd ? this.#instant() : undefined,
      expiresMs: state !== SCHEDULED && random.chance(0.6) ? this.#instant() : undefined,
    }
  }

  /** Rows of the entity, in no order. */
  #some(entity: number): readonly MessageRow[] {
    const all = this.#model.rowsByNumber(
      entity,
      Array.from({ length: this.#nextNumber }, (_, number) => number),
    )
    const from = this.#random.below(all.length + 1)
    return [...all.slice(from), ...all.slice(0, from)]
  }

  #instant(): number {
    return this.#random.below(LAST_MS)
  }

  #lock(): string {
    return this.#random.pick(['1', '2']).repeat(20)
  }
}
