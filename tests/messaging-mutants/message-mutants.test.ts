import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { mutate } from '../simulation/mutants/mutant.ts'
import { MESSAGE_MUTANTS } from './message-mutants.ts'
import { tryMessageMutant } from './try-message-mutant.ts'

// `npm run message-mutants` tries all of them.

const SOURCES = new URL('../../packages/store/src/messages/', import.meta.url)

test.each(MESSAGE_MUTANTS)('$rule: the mutant "$name" fits the sources', async ({ name, edit }) => {
  const source = await readFile(new URL(edit.file, SOURCES), 'utf8')
  const mutated = mutate(edit.file, source, { name, why: '', edits: [edit], killedBy: 0 })
  expect(mutated).not.toBe(source)
})

test('a mutant is killed by a test that names its rule', { timeout: 240_000 }, async () => {
  const index = MESSAGE_MUTANTS.findIndex(({ rule }) => rule === 'EXP-06')
  expect(await tryMessageMutant(index)).toContain('EXP-06')
})
