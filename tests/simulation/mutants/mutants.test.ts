import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { mutate } from './mutant.ts'
import { MUTANTS } from './mutants.ts'
import { tryMutant } from './try-mutant.ts'

// `npm run mutants` tries all of them, with all seeds.

const SOURCES = new URL('../../../packages/processor/src/', import.meta.url)

test('there are twenty mutants at least, each with a name of its own', () => {
  expect(MUTANTS.length).toBeGreaterThanOrEqual(20)
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
})

test.for(MUTANTS)('the mutant $name fits the sources', async (mutant) => {
  for (const { file } of mutant.edits) {
    const source = await readFile(new URL(file, SOURCES), 'utf8')
    expect(mutate(file, source, mutant)).not.toBe(source)
  }
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
