import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { mutate } from '../simulation/mutants/mutant.ts'
import { MESSAGE_MUTANTS } from './message-mutants.ts'

// `npm run message-mutants` tries all of them.

const SOURCES = new URL('../../packages/store/src/messages/', import.meta.url)

test.each(MESSAGE_MUTANTS)('$rule: the mutant "$name" fits the sources', async ({ name, edit }) => {
  const source = await readFile(new URL(edit.file, SOURCES), 'utf8')
  const mutated = mutate(edit.file, source, { name, why: '', edits: [edit], killedBy: 0 })
  expect(mutated).not.toBe(source)
})
