import type { CommitBatch, CommitOperation, CommitOutcome } from '@tidemark/store/engine'
import type { StorageEngine } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import { SteppedClock } from './stepped-clock.ts'
import {
  EngineFixture,
  del,
  put,
  type EngineSetup,
  type StorageEngineUnderTest,
} from './storage-engine-fixtures.ts'

const UNIQUE_KEYS = [['/mail'], ['/a', '/b']] as const

/** Entries of unique keys, which the engine keeps and judges in the commit (decision 0022). */
export function storageEngineUniqueKeys(
  open: (clock?: SteppedClock) => Promise<StorageEngine>,
  openUnderTest: (clock?: SteppedClock) => Promise<StorageEngineUnderTest>,
): void {
  describe('unique keys', () => {
    test('an entry is one live document’s of its partition key value, and one key’s', async () => {
      const { commit, batch, fixture } = await make(open)
      await commit(batch('p', write('a', 'm1', 'x')))
      expect(await commit(batch('p', write('b', 'm1', 'y')))).toEqual(breach(0))
      expect(await commit(batch('p', write('b', 'm2', 'x')))).toEqual(breach(1))
      expect(await commit(batch('q', write('b', 'm1', 'x')))).toMatchObject(COMMITTED)
      expect(await commit(batch('p', write('b', 'x', 'm1')))).toMatchObject(COMMITTED)
      expect(await fixture.read('p', 'b')).toMatchObject({ id: 'b' })
      expect(await fixture.count()).toBe(3)
    })

    test('a document may keep its entries, change them and give them up', async () => {
      const { commit, batch } = await make(open)
      await commit(batch('p', write('a', 'm1', 'x')))
      expect(await commit(batch('p', write('a', 'm1', 'y')))).toMatchObject(COMMITTED)
      expect(await commit(batch('p', write('b', 'm2', 'x')))).toMatchObject(COMMITTED)
      expect(await commit(batch('p', write('c', 'm1', 'z')))).toEqual(breach(0))
      expect(await commit(batch('p', gone('a')))).toMatchObject(COMMITTED)
      expect(await commit(batch('p', write('c', 'm1', 'z')))).toMatchObject(COMMITTED)
    })

    test('a batch whose step breaks a key leaves nothing behind, and names the step', async () => {
      const { commit, batch, fixture } = await make(open)
      await commit(batch('p', write('a', 'm1', 'x')))
      const outcome = await commit(
        batch('p', write('b', 'm2', 'y'), write('a', 'm3', 'z'), write('c', 'm4', 'y')),
      )
      expect(outcome).toEqual({ kind: 'notUnique', batchIndex: 0, stepIndex: 2, keyIndex: 1 })
      expect(await fixture.feedIds()).toEqual(['a'])
      // Nothing of what the refused batch gave out is held, nor anything free that it gave up.
      expect(await commit(batch('p', write('d', 'm1', 'd')))).toEqual(breach(0))
      expect(await commit(batch('p', write('d', 'm3', 'y')))).toMatchObject(COMMITTED)
    })

    test('conditions come before unique keys', async () => {
      const { commit, batch } = await make(open)
      await commit(batch('p', write('a', 'm1', 'x')))
      const outcome = await commit(
        batch('p', write('b', 'm1', 'y'), [
          put('a', { condition: { kind: 'absent' } }),
          ['m1', 'x'],
        ]),
      )
      expect(outcome).toMatchObject({ kind: 'refused', operationIndex: 1 })
      const missing: Write = [put('z', { condition: { kind: 'present' } }), ['m9', 'z']]
      const later = await commit(
        batch('p', write('b', 'm2', 'y')),
        batch('p', write('b', 'm1', 'y')),
        batch('q', missing),
      )
      expect(later).toMatchObject({ kind: 'refused', batchIndex: 2 })
    })

    test('steps are judged in order: what one gives up is free for the next, not for the one before', async () => {
      const { commit, batch } = await make(open)
      await commit(batch('p', write('a', 'm1', 'x'), write('b', 'm2', 'y')))
      expect(await commit(batch('p', write('c', 'm1', 'z'), gone('a')))).toEqual(breach(0))
      expect(await commit(batch('p', gone('a'), write('c', 'm1', 'z')))).toMatchObject(COMMITTED)
      const changed = batch('p', write('b', 'm3', 'x'), write('c', 'm2', 'y'))
      expect(await commit(changed)).toMatchObject(COMMITTED)
      // Two documents cannot change places without one step to a third place.
      expect(await commit(batch('p', write('b', 'm2', 'x'), write('c', 'm3', 'y')))).toEqual(
        breach(0),
      )
      const swapped = steps(batch('p', write('b', 'm2', 'x'), write('c', 'm3', 'y')), [
        ['b', 'tmp', 'x'],
        ['c', 'm3', 'y'],
        ['b', 'm2', 'x'],
      ])
      expect(await commit(swapped)).toMatchObject(COMMITTED)
      expect(await commit(batch('p', write('d', 'tmp', 'd')))).toMatchObject(COMMITTED)
      expect(await commit(batch('p', write('e', 'm3', 'e')))).toEqual(breach(0))
    })

    test('a step that the batch itself overwrites is judged, too', async () => {
      const { commit, batch } = await make(open)
      await commit(batch('p', write('a', 'm1', 'x')))
      const overwritten = steps(batch('p', write('b', 'm2', 'y')), [
        ['b', 'm1', 'y'],
        ['b', 'm2', 'y'],
      ])
      expect(await commit(overwritten)).toEqual(breach(0))
      const made = steps(batch('p', write('b', 'm2', 'y')), [
        ['b', 'm3', 'y'],
        ['b', 'm2', 'y'],
      ])
      expect(await commit(made)).toMatchObject(COMMITTED)
      expect(await commit(batch('p', write('c', 'm3', 'z')))).toMatchObject(COMMITTED)
    })

    test('batches of one commit see what those before them did to entries', async () => {
      const { commit, batch, fixture } = await make(open, { ranges: 4 })
      await commit(batch('p', write('a', 'm1', 'x')))
      expect(await commit(batch('p', gone('a')), batch('q', write('b', 'm1', 'x')))).toMatchObject(
        COMMITTED,
      )
      const twice = await commit(
        batch('p', write('a', 'm2', 'x')),
        batch('p', write('a', 'm3', 'x')),
        batch('p', write('b', 'm2', 'y')),
      )
      expect(twice).toMatchObject(COMMITTED)
      const late = await commit(
        batch('q', write('b', 'm5', 'x')),
        batch('p', write('c', 'm4', 'z')),
        batch('p', write('d', 'm4', 'zz')),
      )
      expect(late).toEqual({ kind: 'notUnique', batchIndex: 2, stepIndex: 0, keyIndex: 0 })
      const repeated = await commit(
        batch('p', write('c', 'm4', 'z')),
        batch('p', write('c', 'm6', 'z')),
        batch('p', write('d', 'm6', 'zz')),
      )
      expect(repeated).toEqual({ kind: 'notUnique', batchIndex: 2, stepIndex: 0, keyIndex: 0 })
      expect(await fixture.count()).toBe(3)
    })

    test('TTL-4 what has expired holds nothing, swept or not; what lives does', async () => {
      const { commit, batch, fixture, clock } = await make(open, { definition: { defaultTtl: 2 } })
      await commit(batch('p', write('a', 'm1', 'x'), write('b', 'm2', 'y')))
      clock.step(1000)
      expect(await commit(batch('p', write('c', 'm1', 'z')))).toEqual(breach(0))
      clock.step(1000)
      expect(await commit(batch('p', write('c', 'm1', 'z')))).toMatchObject(COMMITTED)
      // The sweep of the document that had it takes nothing from the one that has it.
      expect(await fixture.maintain('sweep')).toBe(2)
      expect(await commit(batch('p', write('d', 'm1', 'w')))).toEqual(breach(0))
      expect(await commit(batch('p', write('d', 'm2', 'x')))).toMatchObject(COMMITTED)
    })

    test('TTL-16 a document that is written again after it expired has what the others left of its entries', async () => {
      const { commit, batch, fixture, clock } = await make(open, { definition: { defaultTtl: 2 } })
      await commit(batch('p', write('a', 'm1', 'x')))
      clock.step(2000)
      await commit(batch('p', write('b', 'm1', 'y')))
      expect(await commit(batch('p', write('a', 'm1', 'x')))).toEqual(breach(0))
      expect(await commit(batch('p', write('a', 'm2', 'x')))).toMatchObject(COMMITTED)
      expect(await commit(batch('p', write('c', 'm3', 'x')))).toEqual(breach(1))
      expect(await fixture.feedIds()).toEqual(['b', 'a'])
    })

    test('TTL-18 what expired under a past value holds nothing', async () => {
      const { commit, batch, fixture, clock } = await make(open, { definition: { defaultTtl: 1 } })
      await commit(batch('p', write('a', 'm1', 'x'), write('b', 'm2', 'y')))
      clock.step(1000)
      await fixture.update({ defaultTtl: null })
      expect(await commit(batch('p', write('c', 'm1', 'z')))).toMatchObject(COMMITTED)
      await fixture.maintain('expiryIndex', 1)
      expect(await commit(batch('p', write('d', 'm1', 'w')))).toEqual(breach(0))
      expect(await commit(batch('p', write('d', 'm2', 'y')))).toMatchObject(COMMITTED)
    })

    test('ST-9 entries follow their keys when ranges are split, merged and folded', async () => {
      const { commit, batch, fixture } = await make(open)
      for (const pk of KEYS) await commit(batch(pk, write('a', 'm1', 'x')))
      const held = async (): Promise<void> => {
        for (const pk of KEYS) {
          expect(await commit(batch(pk, write('b', 'm1', 'y')))).toEqual(breach(0))
          expect(await commit(batch(pk, write('a', 'm1', 'x')))).toMatchObject(COMMITTED)
        }
      }
      await fixture.split('20')
      await held()
      await fixture.split('10')
      await fixture.maintain('fold', 3)
      await held()
      await fixture.merge('20')
      await fixture.merge('10')
      await fixture.maintain('fold', 3)
      await held()
    })

    test('entries go with their collection; one of the same name begins without', async () => {
      const { commit, batch, fixture } = await make(open)
      await commit(batch('p', write('a', 'm1', 'x')))
      const { database, collection } = fixture
      await database.deleteCollection('coll')
      const again = await database.createCollection('coll', collection.definition, FULL)
      const other = new EngineFixture(fixture.engine, database, again)
      const [first] = write('b', 'm1', 'x')
      const request = {
        ...other.batch('p', [first]),
        uniqueSteps: [{ id: 'b', entries: ['m1', 'x'] }],
      }
      expect(await other.commit(request)).toMatchObject(COMMITTED)
    })

    test('CF-11 the log of all versions has what was committed, and nothing of what was refused', async () => {
      const allVersions = { retentionSeconds: 60, previousImages: false }
      const { commit, batch, fixture } = await make(open, { definition: { allVersions } })
      await commit(batch('p', write('a', 'm1', 'x')))
      await commit(batch('p', write('b', 'm1', 'y')))
      await commit(batch('p', gone('a'), write('b', 'm1', 'y')))
      expect((await fixture.log()).toSorted()).toEqual(['create a', 'create b', 'delete a'])
    })

    test('a refused unique key does not raise the fence, a fenced write says so first', async () => {
      const { batch, fixture } = await make(open)
      const { database } = fixture
      const fence = (epoch: number): { job: string; range: (typeof FULL)[0]; epoch: number } => ({
        job: 'job',
        range: FULL[0],
        epoch,
      })
      const one = batch('p', write('a', 'm1', 'x'))
      const twin = batch('p', write('b', 'm1', 'y'))
      expect(await database.commit({ batches: [one], fence: fence(5) })).toMatchObject(COMMITTED)
      expect(await database.commit({ batches: [twin], fence: fence(6) })).toEqual(breach(0))
      expect(await database.commit({ batches: [one], fence: fence(5) })).toMatchObject(COMMITTED)
      expect(await database.commit({ batches: [twin], fence: fence(4) })).toMatchObject({
        kind: 'fenced',
      })
    })

    test('of writers at once with the same value one has it, and nobody else is disturbed', async () => {
      const { commit, batch, fixture } = await make(open, { ranges: 2 })
      const outcomes = await Promise.all(
        Array.from({ length: 40 }, (_, n) =>
          n % 4 === 0
            ? commit(batch('p', write(`d${n}`, `own${n}`, `own${n}`)))
            : commit(batch('p', write(`d${n}`, 'same', `x${n}`))),
        ),
      )
      const made = outcomes.map(({ kind }) => kind === 'committed')
      expect(made.filter((_, n) => n % 4 === 0)).not.toContain(false)
      expect(made.filter((isMade, n) => n % 4 !== 0 && isMade)).toHaveLength(1)
      for (const [n, outcome] of outcomes.entries()) {
        if (made[n] !== true) expect(outcome).toEqual(breach(0))
      }
      expect(await fixture.count()).toBe(11)
    })

    test('two connections that write the same values leave one document each', async () => {
      const underTest = await openUnderTest()
      const { openSecond, engine } = underTest
      if (openSecond === undefined) return
      const { fixture } = await make(() => Promise.resolve(engine))
      const second = await openSecond()
      try {
        const other = await fixture.through(second)
        const through = (n: number): EngineFixture => (n % 2 === 0 ? fixture : other)
        const outcomes = await Promise.all(
          Array.from({ length: 60 }, (_, n) => {
            const value = `v${Math.floor(n / 6)}`
            return through(n).commit(withSteps(through(n), 'p', [write(`d${n}`, value, `x${n}`)]))
          }),
        )
        const made = outcomes.filter(({ kind }) => kind === 'committed')
        expect(made).toHaveLength(10)
        for (const outcome of outcomes) {
          if (outcome.kind !== 'committed') expect(outcome).toEqual(breach(0))
        }
        expect(await other.count()).toBe(10)
        expect(await fixture.database.check()).toEqual([])
      } finally {
        await second.close()
      }
    })

    test('entries are there when the store is opened again', async () => {
      const underTest = await openUnderTest()
      const { reopen, engine } = underTest
      if (reopen === undefined) return
      const { commit, batch, fixture } = await make(() => Promise.resolve(engine))
      await commit(batch('p', write('a', 'm1', 'x')))
      await engine.close()
      const again = await fixture.through(await reopen())
      const twin = withSteps(again, 'p', [write('b', 'm1', 'y')])
      expect(await again.commit(twin)).toEqual(breach(0))
      expect(await again.database.check()).toEqual([])
      await again.engine.close()
    })
  })
}

const KEYS: readonly string[] = ['p', 'q', 'r', 's', 't', 'u']
const FULL = [{ minInclusive: '', maxExclusive: 'FF' }] as const
const COMMITTED = { kind: 'committed' } as const

/** An operation and what its document has afterwards; none of a delete. */
type Write = readonly [operation: CommitOperation, entries: readonly string[]]

function write(id: string, ...entries: readonly [string, string]): Write {
  return [put(id), entries]
}

function gone(id: string): Write {
  return [del(id), []]
}

function breach(keyIndex: number): CommitOutcome {
  return { kind: 'notUnique', batchIndex: 0, stepIndex: 0, keyIndex }
}

function withSteps(fixture: EngineFixture, pk: string, writes: readonly Write[]): CommitBatch {
  return {
    ...fixture.batch(
      pk,
      writes.map(([operation]) => operation),
    ),
    uniqueSteps: writes.map(([{ id }, entries]) => ({ id, entries })),
  }
}

/** The batch with other steps: as of one that writes a document more than once. */
function steps(
  batch: CommitBatch,
  list: readonly (readonly [id: string, ...entries: string[]])[],
): CommitBatch {
  return { ...batch, uniqueSteps: list.map(([id, ...entries]) => ({ id, entries })) }
}

async function make(
  open: (clock: SteppedClock) => Promise<StorageEngine>,
  setup: EngineSetup = {},
): Promise<{
  readonly fixture: EngineFixture
  readonly clock: SteppedClock
  readonly batch: (pk: string, ...writes: readonly Write[]) => CommitBatch
  readonly commit: (...batches: readonly CommitBatch[]) => Promise<CommitOutcome>
}> {
  const clock = new SteppedClock()
  const definition = { uniqueKeys: UNIQUE_KEYS, ...setup.definition }
  const fixture = await EngineFixture.make(await open(clock), { ...setup, definition })
  return {
    fixture,
    clock,
    batch: (pk, ...writes) => withSteps(fixture, pk, writes),
    commit: (...batches) => fixture.commit(...batches),
  }
}
