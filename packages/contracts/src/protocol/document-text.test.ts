import { expect, test } from 'vitest'
import { errorCode } from '../errors/coded-error.ts'
import { documentText, idOnPath } from './document-text.ts'

function thrownCode(act: () => unknown): string | undefined {
  try {
    act()
  } catch (error) {
    return errorCode(error)
  }
  return undefined
}

test('ids that a path cannot carry are refused before anything is sent', () => {
  const wrong = ['', 'a/b', 'a\\b', 'a#b', 'x'.repeat(256), '.', '..', '\ud800', 'a\u0000']
  for (const id of [...wrong, 7, null, undefined]) {
    expect(thrownCode(() => idOnPath(id))).toBe('ERR_INVALID_DOCUMENT')
  }
  for (const id of [
    'x'.repeat(255),
    ' a b ',
    'a?b',
    'ü€😀',
    "'",
    '"',
    '%2F',
    '...',
    '€'.repeat(255),
  ]) {
    expect(idOnPath(id)).toBe(id)
  }
})

test('what is no JSON object is no document', () => {
  const cyclic: { self?: unknown } = {}
  cyclic.self = cyclic
  for (const value of [cyclic, { big: 1n }, null, undefined, 'text', 7, [], () => 1]) {
    expect(thrownCode(() => documentText(value))).toBe('ERR_INVALID_DOCUMENT')
  }
  expect(documentText({ at: new Date(0) }).parsed).toEqual({ at: '1970-01-01T00:00:00.000Z' })
})
