import type { EntityRecord } from '@tidemark/store/messages'
import { keepAlive } from '../platform/keep-alive.ts'
import type { BrokerContext } from './broker-context.ts'
import { EntityListening, type Listener } from './listening.ts'
import { receiveQueue, type ReceiveQueue } from './receive-queue.ts'
import { sessionQueue, type SessionQueue, type SessionTurn } from './session-queue.ts'

/** A listener's place at an entity, until it is detached. */
export interface Attachment {
  readonly record: EntityRecord
  /** The waiting receives of the whole entity. */
  readonly messages: ReceiveQueue
  readonly sessions: SessionQueue
  /** The entity was deleted, or the store closed. */
  readonly hasEnded: boolean
  /** A lock was given that ends then, by the lock clock. */
  expectLockEnd(lockMs: number): void
  /** Somebody waits who found nothing. */
  expectMessages(): void
  /** Resolves when nothing runs for this listener any more. */
  detach(): Promise<void>
}

interface Place {
  readonly listening: EntityListening
  readonly record: EntityRecord
  readonly messages: ReceiveQueue
  readonly sessions: SessionQueue
  watched: readonly number[]
}

/**
 * The entities to which this broker listens, each with one `EntityListening`, whatever the number of its receivers. All of
 * them share one watch of the engine, which goes on only while there are any.
 */
export class Listenings {
  readonly #context: BrokerContext
  readonly #places = new Map<number, Place>()
  /** By the entity whose commits they want to hear of. */
  readonly #watchers = new Map<number, Set<EntityListening>>()
  readonly #turns = new Map<number, SessionTurn>()
  #unwatch: (() => void) | undefined
  /** A process in which somebody waits for messages goes on running. */
  readonly #used = new Set<Place>()
  #letEnd: (() => void) | undefined

  constructor(context: BrokerContext) {
    this.#context = context
  }

  /** How many entities it listens to. */
  get size(): number {
    return this.#places.size
  }

  async attach(record: EntityRecord, listener: Listener): Promise<Attachment> {
    const engine = await this.#context.engine()
    this.#unwatch ??= engine.watch((entities) => this.#ring(entities))
    const place = this.#places.get(record.number) ?? this.#open(record)
    const { listening, messages, sessions } = place
    listening.attach(listener)
    this.#noteUse(place)
    return {
      record,
      messages,
      sessions,
      get hasEnded() {
        return listening.hasEnded
      },
      expectLockEnd: (lockMs) => listening.expectLockEnd(lockMs),
      expectMessages: () => listening.expectMessages(),
      detach: () => {
        const detached = listening.detach(listener)
        this.#noteUse(place)
        return detached
      },
    }
  }

  /** Resolves when nothing of any listening runs. All listeners have been detached. */
  async close(): Promise<void> {
    await Promise.all([...this.#places.values()].map(({ messages }) => messages.idle()))
  }

  #noteUse(place: Place): void {
    if (place.listening.isUsed && !place.listening.hasEnded) this.#used.add(place)
    else this.#used.delete(place)
    if (this.#used.size > 0) {
      this.#letEnd ??= keepAlive()
      return
    }
    this.#letEnd?.()
    this.#letEnd = undefined
  }

  #open(record: EntityRecord): Place {
    const context = this.#context
    const { number, path } = record
    const commands = context.commands(path)
    const turn = this.#turns.get(number) ?? { last: '' }
    this.#turns.set(number, turn)
    const onEmpty = (): void => listening.expectMessages()
    const onLocked = (lockedUntilMs: number): void => listening.expectLockEnd(lockedUntilMs)
    const messages = receiveQueue(context, commands, { hold: undefined, onLocked, onEmpty })
    const sessions = sessionQueue(context, commands, { turn, onEmpty })
    const listening: EntityListening = new EntityListening({
      context,
      record,
      messages,
      sessions,
      onWatched: (entities) => {
        // It may have ended while it read what to watch.
        if (this.#places.get(number) === place) this.#watchFor(place, entities)
      },
      onEnd: () => this.#close(place),
    })
    const place: Place = { listening, record, messages, sessions, watched: [] }
    this.#places.set(number, place)
    this.#watchFor(place, [number])
    return place
  }

  #close(place: Place): void {
    this.#watchFor(place, [])
    if (this.#places.get(place.record.number) === place) this.#places.delete(place.record.number)
    this.#noteUse(place)
    if (this.#places.size > 0) return
    this.#unwatch?.()
    this.#unwatch = undefined
  }

  #watchFor(place: Place, entities: readonly number[]): void {
    for (const entity of place.watched) {
      const watchers = this.#watchers.get(entity)
      watchers?.delete(place.listening)
      if (watchers?.size === 0) this.#watchers.delete(entity)
    }
    place.watched = entities
    for (const entity of entities) {
      const watchers = this.#watchers.get(entity) ?? new Set()
      this.#watchers.set(entity, watchers.add(place.listening))
    }
  }

  #ring(entities: readonly number[] | undefined): void {
    if (entities === undefined) {
      for (const { listening } of this.#places.values()) listening.ring()
      return
    }
    for (const entity of entities) {
      for (const listening of this.#watchers.get(entity) ?? []) listening.ring()
    }
  }
}
