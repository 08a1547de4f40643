import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rheaEnd } from './rhea-reader.fixture.ts'
import { assertWellFormed, endOfValue } from './scan-values.ts'

const MALFORMED: unknown = expect.objectContaining({ code: 'ERR_MALFORMED_MESSAGE' })

/** Of every layout that AMQP has. */
const VALUES: readonly (readonly [name: string, hex: string])[] = [
  ['null', '40'],
  ['true', '41'],
  ['uint 0', '43'],
  ['empty list', '45'],
  ['ubyte', '50 ff'],
  ['boolean', '56 01'],
  ['ushort', '60 ffff'],
  ['int', '71 80000000'],
  ['char', '73 0001f30a'],
  ['decimal32', '74 00000001'],
  ['ulong', '80 ffffffffffffffff'],
  ['timestamp', '83 0000000000000001'],
  ['decimal128', '94 00000000000000000000000000000001'],
  ['uuid', '98 00000000000000000000000000000001'],
  ['binary', 'a0 03 010203'],
  ['long string', 'b1 00000002 c3a9'],
  ['symbol', 'a3 01 61'],
  ['list', 'c0 03 02 41 40'],
  ['list without items', 'c0 01 00'],
  ['long list', 'd0 00000006 00000002 41 40'],
  ['map', 'c1 07 02 a10161 a10162'],
  ['long map', 'd1 00000006 00000002 41 40'],
  ['array of fixed width', 'e0 0a 02 71 00000001 00000002'],
  ['array of texts', 'e0 06 02 a1 0161 0162'],
  ['array of lists', 'e0 06 02 c0 0100 0100'],
  ['array of arrays', 'e0 08 02 e0 020071 020071'],
  ['array of described values', 'e0 09 01 00 5301 71 00000001'],
  ['long array without bytes', 'f0 00000005 00000003 41'],
  ['array without items', 'e0 02 00 71'],
  ['described', '00 5375 41'],
  ['described twice', '00 5301 00 5302 41'],
]

const BROKEN: readonly (readonly [name: string, hex: string])[] = [
  ['nothing', ''],
  ['an unknown type', '46'],
  ['a type of another group that does not exist', 'a2 00'],
  ['a number that is cut off', '71 000000'],
  ['a text longer than what is there', 'a1 05 61'],
  ['a text of 4 GB', 'b1 ffffffff 61'],
  ['a size that is cut off', 'b1 000000'],
  ['a list larger than what is there', 'c0 7f 01 41'],
  ['a list of 4 GB', 'd0 ffffffff 00000001 41'],
  ['a size too small for its count', 'd0 00000000 00000000'],
  ['a size of 0', 'c0 00 00'],
  ['more items than bytes', 'd0 00000005 ffffffff 41'],
  ['items that end before the size', 'c0 03 01 41 41'],
  ['items that end behind the size', 'c0 03 01 71 00000000'],
  ['a text that leaves its list', 'c0 03 01 a1 05 0000000000'],
  ['a key without a value', 'c1 02 01 41'],
  ['an array without a type', 'e0 01 00'],
  ['an array of an unknown type', 'e0 02 00 46'],
  ['an array with too few items', 'e0 06 02 71 00000001'],
  ['an array with too many items', 'e0 0a 01 71 00000001 00000002'],
  ['an array of 4 billion items', 'f0 00000005 ffffffff 41'],
  ['an array of 4 billion texts', 'f0 00000006 ffffffff a1 00'],
  ['a descriptor without a value', '00 5375'],
  ['a descriptor that is cut off', '00'],
  ['an array with a descriptor without a type', 'e0 04 01 00 5301'],
]

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll(' ', ''), 'hex')
}

describe('what is well-formed', () => {
  test.each(VALUES)('%s ends where it ends', (_, hex) => {
    const bytes = bytesOf(hex)
    const around = Buffer.concat([Buffer.from([0xff]), bytes, Buffer.from([0xff])])
    expect(endOfValue(around, 1, around.length)).toBe(1 + bytes.length)
    expect(endOfValue(around, 1, 1 + bytes.length)).toBe(1 + bytes.length)
    assertWellFormed(Buffer.concat([bytes, bytes]))
    assertWellFormed(around, 1, 1 + bytes.length)
  })

  test.each(VALUES)('%s that is cut off anywhere is refused', (_, hex) => {
    const bytes = bytesOf(hex)
    for (let end = 0; end < bytes.length; end++) {
      expect(() => endOfValue(bytes, 0, end)).toThrow(MALFORMED)
    }
  })

  test('no bytes are no values', () => {
    assertWellFormed(new Uint8Array())
  })

  test('nesting has a limit', () => {
    const nested = (depth: number): Buffer => bytesOf('00 41'.repeat(depth) + '41')
    assertWellFormed(nested(64))
    expect(() => assertWellFormed(nested(65))).toThrow(MALFORMED)
    expect(() => assertWellFormed(bytesOf('00'.repeat(1_000_000)))).toThrow(MALFORMED)
    expect(() => assertWellFormed(lists(65))).toThrow(MALFORMED)
    assertWellFormed(lists(64))
  })

  test('items without bytes are counted over all arrays', () => {
    assertWellFormed(bytesOf('f0 00000005 00001000 40'))
    expect(() => assertWellFormed(bytesOf('f0 00000005 00001001 40'))).toThrow(MALFORMED)
    expect(() => assertWellFormed(bytesOf('e0 02 ff 40'.repeat(17)))).toThrow(MALFORMED)
  })
})

test.each(BROKEN)('%s is refused', (_, hex) => {
  const bytes = bytesOf(hex)
  expect(() => endOfValue(bytes, 0, bytes.length)).toThrow(MALFORMED)
})

test('whatever the bytes are, they are refused or rhea reads them to the same end', () => {
  let accepted = 0
  fc.assert(
    fc.property(changedValues(), (bytes) => {
      let end: number
      try {
        end = endOfValue(bytes, 0, bytes.length)
      } catch (error) {
        expect(error).toEqual(MALFORMED)
        return
      }
      accepted += 1
      expect(end).toBeLessThanOrEqual(bytes.length)
      expect(rheaEnd(bytes)).toBe(end)
    }),
    { numRuns: 3_000 },
  )
  expect(accepted).toBeGreaterThan(300)
})

/** Lists within lists. */
function lists(depth: number): Buffer {
  let bytes: Buffer = Buffer.from([0x45])
  for (let level = 0; level < depth; level++) {
    const head = Buffer.from([0xd0, 0, 0, 0, 0, 0, 0, 0, 1])
    head.writeUInt32BE(bytes.length + 4, 1)
    bytes = Buffer.concat([head, bytes])
  }
  return bytes
}

/** Some of the above in a list, with some of its bytes changed. */
function changedValues(): fc.Arbitrary<Buffer> {
  const value = fc.constantFrom(...VALUES).map(([, hex]) => bytesOf(hex))
  const changes = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 3 })
  return fc.tuple(fc.array(value, { maxLength: 6 }), changes).map(([values, changed]) => {
    const items = Buffer.concat(values)
    const bytes = Buffer.concat([Buffer.from([0xc0, items.length + 1, values.length]), items])
    for (const [at, byte] of changed) bytes[at % bytes.length] = byte
    return bytes
  })
}
