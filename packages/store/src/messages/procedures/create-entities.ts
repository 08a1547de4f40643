import type { EntityRecord, NewEntity } from '../entities.ts'
import type { CommandAnswers, CommandOf } from '../message-commands.ts'
import { ask, type Procedure, type RowRequests } from '../message-rows.ts'
import { deadLetterDefinition, deadLetterPath } from '../rules/dead-letter-queue.ts'
import type { Work } from './work.ts'

type NewRecord = Parameters<RowRequests['createEntities']>[0][number]
type Parent = NewRecord['parent']

/** A queue or topic earlier in the list, and its place there. */
interface Earlier {
  readonly kind: NewEntity['kind']
  readonly at: number
}

/**
 * Creates all entities, or none. Queues and subscriptions get their dead-letter queues, which the answer leaves out. Topics
 * of subscriptions, and destinations (SET-13), must exist or stand earlier in the list.
 */
export function* createEntities(
  work: Work,
  { entities }: CommandOf<'create'>,
): Procedure<CommandAnswers['create']> {
  const places = new Map<string, Earlier>()
  const topics = new Set<number>()
  const records: NewRecord[] = []
  for (const { kind, path, topic, settings, rules } of entities) {
    let parent: Parent
    if (kind === 'subscription') {
      parent = topic === undefined ? undefined : yield* findTopic(topic, places)
      if (parent === undefined) return { kind: 'missing', path: topic ?? path }
      if (typeof parent === 'number') topics.add(parent)
    }
    const at = records.push({ kind, path, settings, rules, parent }) - 1
    if (kind !== 'subscription') places.set(path.toLowerCase(), { kind, at })
    if (kind === 'topic') continue
    records.push({
      kind: 'deadLetter',
      path: deadLetterPath(path),
      parent: { at },
      ...deadLetterDefinition(settings),
    })
  }
  const missing = yield* missingDestination(entities, places)
  if (missing !== undefined) return { kind: 'missing', path: missing }
  return yield* create(work, topics, records)
}

function* create(
  work: Work,
  topics: ReadonlySet<number>,
  records: readonly NewRecord[],
): Procedure<CommandAnswers['create']> {
  yield* work.hold(topics)
  for (const topic of topics) {
    // Its deletion may have come between.
    if (work.held(topic) === undefined) return { kind: 'missing', path: topicPath(records, topic) }
  }
  const created = yield* ask('createEntities', records, work.time)
  if ('exists' in created) return { kind: 'exists', path: created.exists }
  for (const topic of topics) {
    yield* ask('raiseVersion', topic)
    yield* ask('touch', topic, work.time.lockMs)
    work.touches(topic)
  }
  for (const { number } of created) work.touches(number)
  return { kind: 'created', entities: created.filter(isNamed) }
}

function* findTopic(path: string, places: ReadonlyMap<string, Earlier>): Procedure<Parent> {
  const earlier = places.get(path.toLowerCase())
  if (earlier !== undefined) return earlier.kind === 'topic' ? { at: earlier.at } : undefined
  const found = yield* ask('findEntity', path)
  return found?.kind === 'topic' ? found.number : undefined
}

function* missingDestination(
  entities: readonly NewEntity[],
  places: ReadonlyMap<string, Earlier>,
): Procedure<string | undefined> {
  for (const { settings } of entities) {
    for (const path of [settings.forwardTo, settings.forwardDeadLettersTo]) {
      if (path === undefined || places.has(path.toLowerCase())) continue
      const found = yield* ask('findEntity', path)
      if (found?.kind !== 'queue' && found?.kind !== 'topic') return path
    }
  }
  return undefined
}

function topicPath(records: readonly NewRecord[], topic: number): string {
  const path = records.find(({ parent }) => parent === topic)?.path ?? ''
  return path.slice(0, path.toLowerCase().lastIndexOf('/subscriptions/'))
}

function isNamed({ kind }: EntityRecord): boolean {
  return kind !== 'deadLetter'
}
