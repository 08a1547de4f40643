import {
  FULL_RANGE,
  evenRanges,
  type FeedRange,
  LIVE_ROW,
  PENDING_DELETE_ROW,
  type FeedRow,
  feedVersion,
} from '@tidemark/contracts'
import {
  conditionHolds,
  type CommitOperation,
  type CommitOutcome,
  type UniqueStep,
} from '@tidemark/store/engine'
import type { MaintenanceTask, StorageEngine } from '@tidemark/store'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EngineModel, keyText, versionText, type ModelWrite } from './engine-model.ts'
import { FeedFollower, LogFollower } from './model-followers.ts'
import {
  DEFINITION,
  EngineFixture,
  MANY_CHARS,
  MANY_ITEMS,
  keyOf,
  parsed,
  RID,
} from './storage-engine-fixtures.ts'
import { SteppedClock } from './stepped-clock.ts'

const KEYS: readonly string[] = ['p', 'q', 'r', 's', 't', 'u', 'v', 'w']
const IDS: readonly string[] = ['a', 'b']
const CUTS: readonly string[] = ['08', '10', '18', '20', '28', '30']
const PENDING_SECONDS = 2
const LOG_SECONDS = 3
const HALF: FeedRange = { minInclusive: '10', maxExclusive: '28' }

interface ModelOperation {
  readonly kind: 'put' | 'delete' | 'check'
  readonly id: string
  readonly condition: 'none' | 'absent' | 'present'
  readonly ttl: number | 'invalid'
  /** Of the only unique key; undefined: one that no other document has. */
  readonly entry: string | undefined
}

type Step =
  | {
      readonly kind: 'commit'
      readonly batches: readonly {
        readonly pk: string
        readonly operations: readonly ModelOperation[]
      }[]
    }
  | { readonly kind: 'clock'; readonly ms: number }
  | { readonly kind: 'default'; readonly defaultTtl: number | null }
  /** `which` of those that are possible. */
  | { readonly kind: 'split' | 'merge'; readonly which: number }
  | { readonly kind: 'maintain'; readonly which: number; readonly maxItems: number }
  | { readonly kind: 'read'; readonly follower: number; readonly maxItems: number }

/** A durable engine on a busy machine; a failure takes as long again to shrink. */
const HISTORY_TIMEOUT_MS = 240_000

/** Random histories of everything that an engine does, compared with a simple model after every step. */
export function storageEngineHistory(
  open: (clock?: SteppedClock) => Promise<StorageEngine>,
  runs: number,
): void {
  describe('model of the whole', () => {
    test(
      'ST-9 TTL-4 TTL-13 TTL-15 TTL-16 TTL-18 CF-11 random histories leave what the model says',
      async () => {
        const clock = new SteppedClock()
        const engine = await open(clock)
        let run = 0
        await fc.assert(
          fc.asyncProperty(
            // Short ones would show little: hardly anything has expired by then.
            fc.array(steps(), { minLength: 1, maxLength: 60, size: 'max' }),
            fc.constantFrom(1, 2, 3, 7),
            fc.constantFrom(null, -1, 1, 2),
            async (history, maxItems, defaultTtl) => {
              // One engine for all runs: opening one is what costs most.
              const name = `history${run++}`
              await engine.createDatabase(name)
              const database = await engine.openDatabase(name)
              const definition = {
                ...DEFINITION,
                defaultTtl,
                pendingDeletes: { retentionSeconds: PENDING_SECONDS, waitFor: [] },
                allVersions: { retentionSeconds: LOG_SECONDS, previousImages: true },
                uniqueKeys: [['/u']],
              }
              const ranges = evenRanges(2, DEFINITION.partitionKey)
              const collection = await database.createCollection('coll', definition, ranges)
              const fixture = new EngineFixture(engine, database, collection)
              const walk = new History(fixture, clock, maxItems)
              for (const step of history) {
                await walk.take(step)
                await walk.compare()
              }
              await walk.end()
              await engine.deleteDatabase(name)
            },
          ),
          // Its bias towards small values makes most histories too short for anything to expire.
          { numRuns: runs, unbiased: true },
        )
      },
      HISTORY_TIMEOUT_MS,
    )
  })
}

/** Few choices of each: what happens to one key again and again is where mistakes are. */
function steps(): fc.Arbitrary<Step> {
  const operation = fc.record({
    kind: fc.constantFrom('put', 'put', 'put', 'put', 'delete', 'check'),
    id: fc.constantFrom(...IDS),
    condition: fc.constantFrom('none', 'none', 'none', 'none', 'none', 'none', 'absent', 'present'),
    ttl: fc.constantFrom<number | 'invalid'>(0, 0, 0, 0, 0, 0, -1, 1, 1, 2, 4, 'invalid'),
    entry: fc.constantFrom(undefined, undefined, undefined, 'x', 'x', 'y'),
  } as const)
  const batch = fc.record({
    pk: fc.constantFrom(...KEYS),
    operations: fc.uniqueArray(operation, { selector: ({ id }) => id, minLength: 1, maxLength: 2 }),
  })
  const which = fc.nat({ max: 9 })
  const maxItems = fc.constantFrom(1, 2, 3, 5)
  const commit: fc.Arbitrary<Step> = fc.record({
    kind: fc.constant('commit'),
    batches: fc.array(batch, { minLength: 1, maxLength: 3 }),
  } as const)
  const clock: fc.Arbitrary<Step> = fc.record({
    kind: fc.constant('clock'),
    ms: fc.constantFrom(1, 400, 999, 1000, 1500, 3000),
  } as const)
  const changedDefault: fc.Arbitrary<Step> = fc.record({
    kind: fc.constant('default'),
    defaultTtl: fc.constantFrom(null, -1, 1, 2, 3),
  } as const)
  const cut: fc.Arbitrary<Step> = fc.record({ kind: fc.constantFrom('split', 'merge'), which })
  const maintain: fc.Arbitrary<Step> = fc.record({
    kind: fc.constant('maintain'),
    which,
    maxItems,
  } as const)
  const read: fc.Arbitrary<Step> = fc.record({
    kind: fc.constant('read'),
    follower: fc.nat({ max: 3 }),
    maxItems,
  } as const)
  return fc.oneof(
    { weight: 9, arbitrary: commit },
    { weight: 6, arbitrary: clock },
    { weight: 1, arbitrary: changedDefault },
    { weight: 4, arbitrary: cut },
    { weight: 8, arbitrary: maintain },
    { weight: 3, arbitrary: read },
  )
}

/** One engine and one model that go through the same. */
class History {
  readonly #fixture: EngineFixture
  readonly #clock: SteppedClock
  readonly #maxItems: number
  readonly #model: EngineModel
  readonly #feeds: readonly FeedFollower[]
  readonly #logs: readonly LogFollower[]
  readonly #pendingLsns = new Map<number, number>()
  #n = 0

  constructor(fixture: EngineFixture, clock: SteppedClock, maxItems: number) {
    this.#fixture = fixture
    this.#model = new EngineModel(fixture.collection.definition.defaultTtl)
    this.#clock = clock
    this.#maxItems = maxItems
    this.#feeds = [FULL_RANGE, HALF].map((range) => new FeedFollower(fixture, range))
    this.#logs = [FULL_RANGE, HALF].map((range) => new LogFollower(fixture, range))
  }

  async take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'commit':
        return this.#commit(step.batches)
      case 'clock':
        return this.#clock.step(step.ms)
      case 'default':
        return this.#changeDefault(step.defaultTtl)
      case 'split':
      case 'merge':
        return this.#cut(step.kind, step.which)
      case 'maintain': {
        const { tasks } = await this.#fixture.database.readMaintenance()
        const task = tasks[step.which % Math.max(1, tasks.length)]
        if (task !== undefined) await this.#maintain(task, step.maxItems)
        return
      }
      case 'read': {
        const follower = [...this.#feeds, ...this.#logs][step.follower]
        await follower?.positions.readPage(step.maxItems)
      }
    }
  }

  /** Everything that the engine shows, against the model. */
  async compare(): Promise<void> {
    const { database, collection } = this.#fixture
    const model = this.#model
    const nowMs = database.nowMs()
    const live = model.live(nowMs)
    expect(await this.#fixture.count()).toBe(live.length)
    const query = { collection, range: FULL_RANGE, maxItems: MANY_ITEMS, maxChars: MANY_CHARS }
    const { versions } = await database.scan(query)
    const byNumber = (a: unknown, b: unknown): number => Number(a) - Number(b)
    expect(versions.map((each) => parsed(each)['n']).sort(byNumber)).toEqual(
      live.map(({ n }) => n).sort(byNumber),
    )
    const rows = await this.#rows()
    expect(
      rows
        .filter(({ kind }) => kind === LIVE_ROW)
        .map(text)
        .sort(),
    ).toEqual(
      live
        .map((each) => text({ ...each, key: keyText(each), second: model.expiryOf(each) }))
        .sort(),
    )
    const gone = rows.filter(({ kind }) => kind === PENDING_DELETE_ROW)
    expect(gone.map(({ key, n, second }) => `${key} ${n} ${second}`).sort()).toEqual(
      [...model.pending.values()]
        .map(({ key, version, expired }) => `${key} ${version.n} ${expired}`)
        .sort(),
    )
    for (const { key, n, lsn } of gone) {
      expect(this.#pendingLsns.get(n) ?? lsn).toBe(lsn)
      this.#pendingLsns.set(n, lsn)
      expect(lsn).toBeGreaterThan(model.pending.get(n)?.version.lsn ?? Infinity)
      expect(lsn).toBeLessThan(model.documents.get(key)?.lsn ?? Infinity)
    }
    const log = await this.#log()
    for (const key of model.log.keys()) {
      expect(log.get(key) ?? []).toEqual(model.logOf(key).map((entry) => entry.text))
    }
  }

  /** Finishes all background work; followers have then seen all that they must. */
  async end(): Promise<void> {
    const model = this.#model
    for (const task of ['expiryIndex', 'sweep', 'fold'] as const) {
      await this.#finish(task)
      await this.compare()
    }
    const nowMs = this.#fixture.database.nowMs()
    expect(model.expired(nowMs)).toEqual([])
    expect(await this.#fixture.database.check()).toEqual([])
    for (const [index, range] of [FULL_RANGE, HALF].entries()) {
      const isIn = (key: string): boolean => {
        const { epk } = keyOf(key.split('/')[0] ?? '')
        return range.minInclusive <= epk && epk < range.maxExclusive
      }
      const feed = this.#feeds[index]
      await feed?.positions.readToEnd(this.#maxItems)
      for (const document of model.live(nowMs)) {
        const key = keyText(document)
        if (isIn(key)) expect(feed?.newest.get(key)).toBe(document.n)
      }
      for (const { key, version } of model.pending.values()) {
        if (isIn(key)) expect(feed?.gone.has(version.n)).toBe(true)
      }
      const log = this.#logs[index]
      await log?.positions.readToEnd(this.#maxItems)
      for (const [key, entries] of model.log) {
        const seen = log?.seen.get(key) ?? []
        const all = entries.map((entry) => entry.text)
        if (!isIn(key)) expect(seen).toEqual([])
        else if (log?.positions.horizonPassed === false) expect(seen).toEqual(all)
        else
          expect(seen.slice(-model.logOf(key).length || Infinity)).toEqual(
            model.logOf(key).map((entry) => entry.text),
          )
      }
    }
    this.#assertAllGoneSeen()
  }

  /** A reader that was not told of a horizon has seen every pending delete there ever was (TTL-15). */
  #assertAllGoneSeen(): void {
    const [whole] = this.#feeds
    if (whole === undefined || whole.positions.horizonPassed) return
    for (const n of this.#model.purged) expect(whole.gone.has(n)).toBe(true)
  }

  async #commit(batches: Extract<Step, { kind: 'commit' }>['batches']): Promise<void> {
    const nowMs = this.#fixture.database.nowMs()
    const present = new Map<string, boolean>()
    let failure: Partial<CommitOutcome> | undefined
    const writes: PlannedWrite[] = []
    const requests = batches.map(({ pk, operations }, batchIndex) => ({
      ...this.#fixture.batch(
        pk,
        operations.map((operation, operationIndex): CommitOperation => {
          const { kind, id, ttl } = operation
          const key = keyText({ pk, id })
          const condition = { kind: operation.condition }
          const isThere = present.get(key) ?? this.#model.read(key, nowMs) !== undefined
          const at = { batchIndex, operationIndex }
          if (!conditionHolds(condition, isThere ? 1 : undefined)) {
            failure ??= { kind: 'refused', ...at }
          } else if (kind === 'put' && ttl === 'invalid' && this.#model.hasTtl) {
            failure ??= { kind: 'invalidTtl', ...at }
          }
          if (kind === 'check') return { kind, id, condition }
          present.set(key, kind === 'put')
          const n = ++this.#n
          const { entry = `own ${n}` } = operation
          const write: ModelWrite =
            kind === 'put' ? { kind, n, ttl: ttl === 'invalid' ? 0 : ttl, entry } : { kind }
          writes.push({ pk, id, write, batchIndex })
          if (kind === 'delete') return { kind, id, condition }
          return { kind, id, condition, rid: RID, body: JSON.stringify({ pk, id, n }), ttl }
        }),
      ),
      uniqueSteps: stepsOf(writes, batchIndex),
    }))
    failure ??= this.#breach(writes, nowMs)
    const outcome = await this.#fixture.commit(...requests)
    if (failure !== undefined) {
      expect(outcome).toMatchObject(failure)
      return
    }
    if (outcome.kind !== 'committed') throw new Error(`not committed: ${JSON.stringify(outcome)}`)
    expect(outcome.timeMs).toBe(nowMs)
    for (const { pk, id, write, batchIndex } of writes) {
      this.#model.write({ pk, id }, write, { lsn: outcome.batches[batchIndex]?.lsn ?? 0, nowMs })
    }
  }

  /** The first write that gives a document an entry of another one. */
  #breach(writes: readonly PlannedWrite[], nowMs: number): Partial<CommitOutcome> | undefined {
    const held = new Map(this.#model.live(nowMs).map((each) => [keyText(each), each]))
    const entries = new Map([...held].map(([key, { pk, entry }]) => [key, `${pk}/${entry}`]))
    for (const [index, { pk, id, write, batchIndex }] of writes.entries()) {
      const key = keyText({ pk, id })
      entries.delete(key)
      if (write.kind === 'delete') continue
      const entry = `${pk}/${write.entry}`
      if ([...entries.values()].includes(entry)) {
        const stepIndex = writes
          .slice(0, index)
          .filter((each) => each.batchIndex === batchIndex).length
        return { kind: 'notUnique', batchIndex, stepIndex, keyIndex: 0 }
      }
      entries.set(key, entry)
    }
    return undefined
  }

  async #changeDefault(defaultTtl: number | null): Promise<void> {
    await this.#fixture.update({ defaultTtl })
    this.#model.setDefault(defaultTtl, this.#fixture.database.nowMs())
  }

  /** Where there is nothing to split or merge, nothing. */
  async #cut(kind: 'split' | 'merge', which: number): Promise<void> {
    const borders = (await this.#fixture.ranges()).map(({ minInclusive }) => minInclusive).slice(1)
    const places = kind === 'merge' ? borders : CUTS.filter((at) => !borders.includes(at))
    const at = places[which % Math.max(1, places.length)]
    if (at !== undefined) await this.#fixture[kind](at)
  }

  /** All that there is to do of one kind. */
  async #finish(kind: MaintenanceTask['kind']): Promise<void> {
    for (let calls = 0; calls < 1000; calls++) {
      const { tasks } = await this.#fixture.database.readMaintenance()
      const task = tasks.find((each) => each.kind === kind)
      if (task === undefined) return
      await this.#maintain(task, 7)
    }
    throw new Error(`${kind} never ends`)
  }

  /** One piece. */
  async #maintain(task: MaintenanceTask, maxItems: number): Promise<void> {
    const { kind } = task
    const { items } = await this.#fixture.piece(task, maxItems)
    if (kind === 'sweep' || kind === 'expiryIndex') {
      const swept = await this.#noteExpiries(kind)
      if (kind === 'sweep') expect(swept).toBe(items)
    }
    if (kind === 'purge') expect(await this.#notePurged()).toBe(items)
    if (kind === 'trimVersions') expect(await this.#noteTrimmed()).toBe(items)
  }

  /** Takes over which expired documents are pending deletes now. */
  async #noteExpiries(kind: 'sweep' | 'expiryIndex'): Promise<number> {
    const nowMs = this.#fixture.database.nowMs()
    const before = this.#model.expired(nowMs)
    const rows = await this.#rows()
    const gone = new Set(rows.flatMap((row) => (row.kind === LIVE_ROW ? [] : [row.n])))
    const seconds = (isSwept: boolean): readonly number[] =>
      before
        .filter(({ n }) => gone.has(n) === isSwept)
        .map((document) => this.#model.expiredAt(document, nowMs))
    // The longest expired first.
    if (kind === 'sweep') {
      expect(Math.max(0, ...seconds(true))).toBeLessThanOrEqual(Math.min(...seconds(false)))
    }
    const swept = before.filter(({ n }) => gone.has(n))
    for (const document of swept) this.#model.expire(document, nowMs)
    return swept.length
  }

  async #notePurged(): Promise<number> {
    const nowSecond = Math.floor(this.#fixture.database.nowMs() / 1000)
    const left = new Set((await this.#rows()).map(({ n }) => n))
    let purged = 0
    for (const [n, { writtenMs, key }] of this.#model.pending) {
      if (left.has(n)) continue
      expect(Math.floor(writtenMs / 1000) + PENDING_SECONDS).toBeLessThanOrEqual(nowSecond)
      const { epk } = keyOf(key.split('/')[0] ?? '')
      const range = { minInclusive: epk, maxExclusive: `${epk}00` }
      const { horizon } = await this.#fixture.page(0, { range })
      expect(horizon).toBeGreaterThanOrEqual(this.#pendingLsns.get(n) ?? Infinity)
      this.#model.purge(n)
      purged++
    }
    return purged
  }

  async #noteTrimmed(): Promise<number> {
    const nowMs = this.#fixture.database.nowMs()
    const log = await this.#log()
    let trimmed = 0
    for (const [key, entries] of this.#model.log) {
      const missing = this.#model.logOf(key).length - (log.get(key)?.length ?? 0)
      for (const { writtenMs } of this.#model.logOf(key).slice(0, missing)) {
        expect(writtenMs + LOG_SECONDS * 1000).toBeLessThanOrEqual(nowMs)
      }
      this.#model.trimmed.set(key, entries.length - (log.get(key)?.length ?? 0))
      trimmed += missing
    }
    return trimmed
  }

  /** The feeds of all present ranges. */
  async #rows(): Promise<readonly FeedText[]> {
    const rows: FeedText[] = []
    for (const range of await this.#fixture.ranges()) {
      for (let afterLsn = 0; ;) {
        const page = await this.#fixture.page(afterLsn, { range, maxItems: this.#maxItems })
        rows.push(...page.rows.map(feedText))
        afterLsn = page.lsn
        if (page.caughtUp) break
      }
    }
    return rows
  }

  /** The logs of all present ranges, by key. */
  async #log(): Promise<ReadonlyMap<string, readonly string[]>> {
    const entries = new Map<string, string[]>()
    for (const range of await this.#fixture.ranges()) {
      for (let afterLsn = 0; ;) {
        const page = await this.#fixture.versions(afterLsn, { range, maxItems: this.#maxItems })
        for (const row of page.rows) {
          const [pk] = JSON.parse(row.partitionKey) as [string]
          const key = keyText({ pk, id: row.id })
          entries.set(key, [...(entries.get(key) ?? []), versionText(row)])
        }
        afterLsn = page.lsn
        if (page.caughtUp) break
      }
    }
    return entries
  }
}

interface PlannedWrite {
  readonly pk: string
  readonly id: string
  readonly write: ModelWrite
  readonly batchIndex: number
}

function stepsOf(writes: readonly PlannedWrite[], batchIndex: number): readonly UniqueStep[] {
  return writes
    .filter((each) => each.batchIndex === batchIndex)
    .map(({ id, write }) => ({ id, entries: write.kind === 'put' ? [write.entry] : [] }))
}

interface FeedText {
  readonly kind: number
  readonly lsn: number
  readonly key: string
  readonly n: number
  readonly second: number
}

function feedText(row: FeedRow): FeedText {
  const [lsn, kind, , second] = row
  const { pk, id, n } = parsed(feedVersion(row))
  return { kind, lsn, key: keyText({ pk: String(pk), id: String(id) }), n: Number(n), second }
}

function text({ lsn, key, n, second }: Omit<FeedText, 'kind'>): string {
  return `${lsn} ${key} ${n} ${second}`
}
