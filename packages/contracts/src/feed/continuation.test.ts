import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { errorCode } from '../errors/coded-error.ts'
import {
  continuationPosition,
  decodeContinuation,
  encodeContinuation,
  type ContinuationToken,
} from './continuation.ts'
import { FULL_RANGE, feedRangeId, parseFeedRangeId } from '../ranges/feed-range.ts'
import { lsn } from '../ranges/lsn.ts'

const token: ContinuationToken = {
  collectionRid: 'Sl8fALN4sw4=',
  mode: 'latestVersion',
  positions: [
    { range: { minInclusive: '', maxExclusive: '20' }, epoch: 0, lsn: lsn(7), purgeStamp: 0 },
    {
      range: { minInclusive: '20', maxExclusive: 'FF' },
      epoch: 3,
      lsn: lsn(0),
      purgeStamp: undefined,
    },
  ],
}
const text = encodeContinuation(token)

function failure(act: () => unknown): { code: string | undefined; message: string } {
  try {
    act()
  } catch (error) {
    return { code: errorCode(error), message: String(error) }
  }
  throw new Error('nothing was thrown')
}

describe('CF-8 a continuation', () => {
  test('comes back as it went in, and is printable ASCII', () => {
    const range = fc
      .tuple(fc.integer({ min: 0, max: 0xfe }), fc.integer({ min: 1, max: 0xff }))
      .filter(([min, max]) => min < max)
      .map(([min, max]) => ({
        minInclusive: min === 0 ? '' : hexByte(min),
        maxExclusive: hexByte(max),
      }))
    const position = fc.record({
      range,
      epoch: fc.nat(),
      lsn: fc.maxSafeNat().map(lsn),
      purgeStamp: fc.option(fc.maxSafeNat(), { nil: undefined }),
    })
    const tokens = fc.record({
      collectionRid: fc
        .base64String({ minLength: 4, maxLength: 12 })
        .map((rid) => rid.replaceAll('/', '-')),
      mode: fc.constantFrom('latestVersion' as const, 'allVersions' as const),
      positions: fc.array(position, { minLength: 1, maxLength: 20 }),
    })
    fc.assert(
      fc.property(tokens, (value) => {
        const encoded = encodeContinuation(value)
        expect(encoded).toMatch(/^[\x21-\x7e]+$/)
        expect(decodeContinuation(encoded)).toEqual(value)
      }),
    )
  })

  // They are in leases and files: these texts may never change.
  test('is the text that it has always been, with all eight digits of its checksum', () => {
    const whole = { range: FULL_RANGE, epoch: 0 }
    const golden: readonly (readonly [string, ContinuationToken])[] = [
      ['tm1;Sl8fALN4sw4=;L;-20:0:7:0,20-FF:3:0:-;64c8d8fe', token],
      [
        'tm1;Sl8fALN4sw4=;L;-FF:0:31:-;060bab5d',
        { ...token, positions: [{ ...whole, lsn: lsn(31), purgeStamp: undefined }] },
      ],
      [
        'tm1;Sl8fALN4sw4=;A;-FF:0:2435:2436;0005d2b5',
        {
          ...token,
          mode: 'allVersions',
          positions: [{ ...whole, lsn: lsn(2435), purgeStamp: 2436 }],
        },
      ],
    ]
    for (const [written, value] of golden) {
      expect(encodeContinuation(value)).toBe(written)
      expect(decodeContinuation(written)).toEqual(value)
    }
  })

  test('that was altered or cut off anywhere is refused', () => {
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.constantFrom('', '0', 'x', ';', ':'), (at, put) => {
        const altered = text.slice(0, at) + put + text.slice(at + 1)
        fc.pre(altered !== text)
        expect(failure(() => decodeContinuation(altered)).code).toBe('ERR_INVALID_CONTINUATION')
      }),
    )
    for (const bad of ['', 'nonsense', 'tm1;', '"12"']) {
      expect(failure(() => decodeContinuation(bad)).code).toBe('ERR_INVALID_CONTINUATION')
    }
  })

  test('of a newer format says so', () => {
    expect(failure(() => decodeContinuation(text.replace('tm1', 'tm2'))).message).toContain(
      'format tm2',
    )
  })

  test('of another collection, mode or range is refused, and the message names which', () => {
    const range = { minInclusive: '20', maxExclusive: 'FF' }
    const fitting = { collectionRid: token.collectionRid, mode: token.mode, range } as const
    expect(continuationPosition(text, fitting).epoch).toBe(3)
    expect(
      failure(() => continuationPosition(text, { ...fitting, collectionRid: 'other' })).message,
    ).toContain('collection Sl8fALN4sw4=')
    expect(
      failure(() => continuationPosition(text, { ...fitting, mode: 'allVersions' })).message,
    ).toContain('mode latestVersion')
    expect(
      failure(() => continuationPosition(text, { ...fitting, range: FULL_RANGE })).message,
    ).toContain('does not contain -FF')
  })

  test("of a parent's range is valid on a child's", () => {
    const child = { minInclusive: '30', maxExclusive: '40' }
    const { collectionRid, mode } = token
    expect(continuationPosition(text, { collectionRid, mode, range: child })).toEqual({
      range: child,
      epoch: 3,
      lsn: 0,
      purgeStamp: undefined,
    })
  })
})

describe('feed range ids', () => {
  test('come back as they went in', () => {
    for (const { range } of token.positions) {
      expect(parseFeedRangeId(feedRangeId(range))).toEqual(range)
    }
  })

  test('that are no intervals are none', () => {
    for (const id of ['', '-', 'FF', 'FF-20', '20-20', 'zz-FF', '2-FF', 'a0-FF']) {
      expect(parseFeedRangeId(id)).toBeUndefined()
    }
  })
})

function hexByte(value: number): string {
  return value.toString(16).toUpperCase().padStart(2, '0')
}
