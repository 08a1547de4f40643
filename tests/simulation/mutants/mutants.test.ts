import { expect, test } from 'vitest'
import { mutate } from './mutant.ts'
import { MUTANTS } from './mutants.ts'
import { tryMutant } from './try-mutant.ts'

// Every rule is looked for where it is known to be missed; `npm run mutants` looks everywhere.

test('there are twenty mutants at least, each with a name of its own', () => {
  expect(MUTANTS.length).toBeGreaterThanOrEqual(20)
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
})

test('the seeds that show mutants are clean without them', { timeout: 240_000 }, async () => {
  const seeds = new Set(MUTANTS.map(({ killedBy }) => killedBy))
  expect(await tryMutant(undefined, [...seeds])).toBeUndefined()
})

test('each rule of safety that is taken out is missed', { timeout: 480_000 }, async () => {
  const waiting = [...MUTANTS]
  const alive: string[] = []
  const work = async (): Promise<void> => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const kill = await tryMutant(mutant, [mutant.killedBy])
      if (kill === undefined) alive.push(mutant.name)
    }
  }
  await Promise.all([work(), work()])
  expect(alive).toEqual([])
})

test('a mutant that fits nothing any more is an error', async () => {
  const mutant = {
    name: 'stale',
    why: '',
    killedBy: 1,
    edits: [{ file: 'a.ts', find: 'is gone', replace: '' }],
  }
  expect(() => mutate('a.ts', 'something else', mutant)).toThrow(/0 times in a\.ts/)
  expect(() => mutate('a.ts', 'is gone, is gone', mutant)).toThrow(/2 times/)
  expect(mutate('b.ts', 'something else', mutant)).toBe('something else')
  await expect(tryMutant({ name: 'nothing' }, [1])).rejects.toThrow(/no mutant/)
})
