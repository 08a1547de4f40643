import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { errorsPage, missingCodes, readAllErrors, readErrors } from './errors-page.ts'

const page = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8')

test('docs/errors.md is what the error classes say (node scripts/errors-page.ts)', () => {
  expect(page).toBe(errorsPage(readAllErrors()))
})

test('every error says what happened and what to do, under a code of its own', () => {
  const errors = readAllErrors()
  expect(errors.filter(({ cause, remedy }) => cause === '' || remedy === '')).toEqual([])
  expect(errors.map(({ code }) => code)).toEqual([...new Set(errors.map(({ code }) => code))])
})

test('every code of the sources is on the page', () => {
  expect(missingCodes(page)).toEqual([])
  expect(missingCodes(page.replaceAll('`ERR_USAGE`', ''))).toEqual([])
  expect(missingCodes(page.replaceAll('`ERR_FENCED_WRITE`', ''))).toEqual(['ERR_FENCED_WRITE'])
})

test('a class is read with its doc comment, its remedy and its fields', () => {
  const text = `
/** Another comment. */
const other = 1

/**
 * It broke,
 * badly.
 *
 * @remedy Mend it.
 */
export class BrokenError extends CodedError {
  readonly code = 'ERR_BROKEN'
  readonly retryable = true
}`
  expect(readErrors('packages/store/src/broken-error.ts', text)).toEqual([
    {
      code: 'ERR_BROKEN',
      className: 'BrokenError',
      packageName: '@tidemark/store',
      retryable: true,
      cause: 'It broke, badly.',
      remedy: 'Mend it.',
    },
  ])
})
