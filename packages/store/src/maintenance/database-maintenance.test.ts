import { ResourceNotFoundError, systemClock } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import type { MaintenanceOutcome, MaintenanceTask } from '../engine/maintenance.ts'
import type { DatabaseEngine } from '../engine/storage-engine.ts'
import { StoreEventEmitter } from '../events/store-event-emitter.ts'
import { DatabaseMaintenance } from './database-maintenance.ts'
import { resolveMaintenanceOptions } from './maintenance-options.ts'

const collection = { id: 'coll', number: 1 } as MaintenanceTask['collection']
const INDEX: MaintenanceTask = { kind: 'expiryIndex', collection }
const SWEEP: MaintenanceTask = { kind: 'sweep', collection }
const PURGE: MaintenanceTask = { kind: 'purge', collection }
const NOTHING = { kind: 'done', items: 0, more: false } as const

/** An engine that has these tasks at every look, or what it is told, and answers each piece as it is told. */
function maintenanceOver(
  found: readonly MaintenanceTask[] | (() => readonly MaintenanceTask[]),
  answer: (task: MaintenanceTask | undefined) => MaintenanceOutcome,
) {
  const done: string[] = []
  const engine = {
    readMaintenance: async () => ({
      tasks: typeof found === 'function' ? found() : found,
      nextDueMs: 77,
      holder: undefined,
    }),
    maintain: async ({ task }: { readonly task?: MaintenanceTask }) => {
      done.push(task?.kind ?? 'nothing')
      return answer(task)
    },
    nowMs: () => 0,
    listCollections: async () => [],
  }
  const maintenance = new DatabaseMaintenance({
    databaseId: 'db',
    // Only what is asked here.
    engine: engine as unknown as DatabaseEngine,
    holder: 'me',
    clock: systemClock,
    events: new StoreEventEmitter(),
    options: resolveMaintenanceOptions(),
  })
  return { maintenance, done }
}

test('an endless task does not starve the others', async () => {
  const { maintenance, done } = maintenanceOver([SWEEP, PURGE], (task) => ({
    kind: 'done',
    items: 1,
    more: task?.kind === 'sweep',
  }))
  for (let step = 0; step < 40; step++) await maintenance.step()
  expect(done.filter((kind) => kind === 'purge').length).toBeGreaterThanOrEqual(3)
  expect(done.filter((kind) => kind === 'sweep').length).toBeGreaterThanOrEqual(30)
})

test('a look whose tasks come to nothing is not repeated at once', async () => {
  const { maintenance, done } = maintenanceOver([PURGE], () => ({
    kind: 'done',
    items: 0,
    more: false,
  }))
  expect((await maintenance.step()).kind).toBe('looked')
  expect((await maintenance.step()).kind).toBe('worked')
  expect(await maintenance.step()).toEqual({ kind: 'idle', nextDueMs: 77 })
  expect(done).toEqual(['purge'])
  expect((await maintenance.step()).kind).toBe('looked')
})

test('TTL-13 TTL-18 what became due by work that moved nothing is done at once', async () => {
  let isExact = false
  const { maintenance, done } = maintenanceOver(
    () => (isExact ? [SWEEP] : [INDEX]),
    (task) => {
      // The last piece finds no more documents, and the index is exact again.
      isExact = true
      return { kind: 'done', items: task?.kind === 'sweep' ? 1 : 0, more: false }
    },
  )
  for (let step = 0; step < 4; step++) await maintenance.step()
  expect(done).toEqual(['expiryIndex', 'sweep'])
})

test('what is gone since the look is passed over', async () => {
  const { maintenance, done } = maintenanceOver([SWEEP, PURGE], (task) => {
    if (task?.kind === 'sweep') throw new ResourceNotFoundError('collection', 'coll')
    return { kind: 'done', items: 1, more: false }
  })
  for (let step = 0; step < 3; step++) await maintenance.step()
  expect(done).toEqual(['sweep', 'purge'])
})

test('when another has the right, the tasks are left to it', async () => {
  const { maintenance, done } = maintenanceOver([SWEEP, PURGE], () => ({
    kind: 'held',
    holder: 'other',
    untilMs: 5,
  }))
  await maintenance.step()
  expect(await maintenance.step()).toEqual({ kind: 'held', holder: 'other', untilMs: 5 })
  expect((await maintenance.step()).kind).toBe('looked')
  expect(done).toEqual(['sweep'])
})

test('a task that fails for ever does not keep one back that came to nothing once', async () => {
  let isDue = false
  const { maintenance, done } = maintenanceOver([SWEEP, PURGE], (task) => {
    if (task?.kind === 'sweep') throw new Error('damaged')
    return { kind: 'done', items: isDue ? 1 : 0, more: false }
  })
  for (let step = 0; step < 4; step++) await maintenance.step().catch(() => {})
  isDue = true
  done.length = 0
  for (let step = 0; step < 20; step++) await maintenance.step().catch(() => {})
  expect(done).toContain('purge')
})

test('two tasks whose pieces find nothing come to rest, however many pieces they take', async () => {
  const tasks = [1, 2].map((number): MaintenanceTask => ({
    kind: 'trimVersions',
    collection: { id: `coll${number}`, number } as MaintenanceTask['collection'],
  }))
  let pieces = 0
  const { maintenance } = maintenanceOver(tasks, () => ({
    kind: 'done',
    items: 0,
    // Each pass over its ranges takes two pieces.
    more: pieces++ % 2 === 0,
  }))
  const kinds: string[] = []
  for (let step = 0; step < 20; step++) kinds.push((await maintenance.step()).kind)
  expect(kinds).toContain('idle')
})

test('what came to nothing in one collection or range does not keep another one back', async () => {
  const other = { id: 'other', number: 2 } as MaintenanceTask['collection']
  const fold = (range: number): MaintenanceTask => ({ kind: 'fold', collection, range })
  const found = [PURGE, fold(1)]
  const { maintenance, done } = maintenanceOver(
    () => found,
    () => NOTHING,
  )
  for (let step = 0; step < 3; step++) await maintenance.step()
  expect(done).toEqual(['purge', 'fold'])
  found.push({ ...PURGE, collection: other }, fold(2))
  expect((await maintenance.step()).kind).toBe('looked')
  for (let step = 0; step < 2; step++) await maintenance.step()
  expect(done.slice(2)).toEqual(['purge', 'fold'])
})

test('a caller who asks for all work that is due has what just came to nothing tried again', async () => {
  const { maintenance } = maintenanceOver([PURGE], () => NOTHING)
  for (let step = 0; step < 2; step++) await maintenance.step()
  maintenance.begin()
  expect((await maintenance.step()).kind).toBe('looked')
})

test('what came to nothing before another had the right is tried again after it', async () => {
  const { maintenance } = maintenanceOver([SWEEP, PURGE], (task) =>
    task?.kind === 'sweep' ? NOTHING : { kind: 'held', holder: 'other', untilMs: 5 },
  )
  const done: string[] = []
  for (let step = 0; step < 5; step++) {
    const { kind, ...rest } = await maintenance.step()
    done.push('work' in rest ? rest.work : kind)
  }
  expect(done).toEqual(['looked', 'sweep', 'held', 'looked', 'sweep'])
})

test('what is gone since the look is not looked for again at once', async () => {
  const { maintenance } = maintenanceOver([PURGE], () => {
    throw new ResourceNotFoundError('collection', 'coll')
  })
  for (let step = 0; step < 2; step++) await maintenance.step()
  expect((await maintenance.step()).kind).toBe('idle')
})
