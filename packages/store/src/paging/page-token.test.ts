import { errorCode } from '@tidemark/contracts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodePageToken, encodePageToken, type PageTokenOwner } from './page-token.ts'

const owner: PageTokenOwner = { list: 'td', rid: 'Sl8fALN4sw4=', scope: '-FF' }

function code(token: string, wanted: PageTokenOwner = owner, parts = 3): string | undefined {
  try {
    decodePageToken(token, wanted, parts)
  } catch (error) {
    return errorCode(error)
  }
  return undefined
}

describe('ST-7 ST-8 a page token', () => {
  test('comes back as it went in, and is printable ASCII', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.string()), (scope, position) => {
        const token = encodePageToken({ ...owner, scope }, position)
        expect(token).toMatch(/^[\x21-\x7e]+$/)
        expect(decodePageToken(token, { ...owner, scope }, position.length)).toEqual(position)
      }),
    )
  })

  test('is refused for another list, collection, scope or number of parts', () => {
    const token = encodePageToken(owner, ['a', 'b', 'c'])
    expect(code(token)).toBeUndefined()
    for (const other of [
      { ...owner, list: 'tp' as const },
      { ...owner, rid: 'other' },
      { ...owner, scope: '' },
    ]) {
      expect(code(token, other)).toBe('ERR_INVALID_CONTINUATION')
    }
    expect(code(token, owner, 2)).toBe('ERR_INVALID_CONTINUATION')
  })

  test('is refused when a character was changed, added or lost', () => {
    const token = encodePageToken(owner, ['a', 'b', 'c'])
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom('', 'Z', ';', '==x'), (at, text) => {
        const altered = token.slice(0, at) + text + token.slice(at + 1)
        fc.pre(altered !== token)
        expect(code(altered)).toBe('ERR_INVALID_CONTINUATION')
      }),
    )
  })
})
