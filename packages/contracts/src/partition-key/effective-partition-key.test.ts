import fc from 'fast-check'
import murmurOracle from 'murmurhash3js-revisited'
import { describe, expect, test, vi } from 'vitest'
import { rangeContainsEpk } from '../ranges/feed-range.ts'
import {
  divideRange,
  effectivePartitionKey,
  epkPrefixRange,
  evenRanges,
} from './effective-partition-key.ts'
import { murmur3x64, murmur3x86 } from './murmur3.ts'
import { partitionKeyDefinition, type PartitionKeyComponent } from './partition-key.ts'

const v1 = partitionKeyDefinition('/pk', 1)
const v2 = partitionKeyDefinition('/pk')

/** Computed with the functions of Azure Cosmos DB's JavaScript client: value, V2, V1. */
const VECTORS: readonly [PartitionKeyComponent, string, string?][] = [
  ['', '32E9366E637A71B4E710384B2F4970A0', '05C1CF33970FF80800'],
  ['a', '3A5381E1114EB8D3FCC90795045B49B7', '05C1D78593652C086200'],
  ['A', '14F53A0810CE6727EB1CD722D321216F', '05C1ED4B21E306084200'],
  ['x', '11E3F358618BE9AA5BAFF4C7C74F0716'],
  ['asdf', '208BF1D598F5B63AD5520F04FE58C5E8', '05C1E7035DAF84086274656700'],
  ['redmond', '22E342F38A486A088463DFF7838A5963', '05C1EFE313830C087366656E706F6500'],
  [
    'partitionKey',
    '013AEFCF77FA271571CF665A58C933F1',
    '05C1E1B3D9CD2608716273756A756A706F4C667A00',
  ],
  ['ü€😀', '025EB35F371716C017880F4F815D8B7E', '05C1E3E5D7298A08C4BDE383ADF1A0998100'],
  ['a'.repeat(100), '0DBD7D229437BB665DE6417747994D57', `05C1EB5921F70608${'62'.repeat(100)}00`],
  ['a'.repeat(101), '08042541D30C8BF90D7092B1519AE0BC', `05C1EB5921F70608${'62'.repeat(100)}00`],
  [0, '155B95BEDAC4B1E9EC1CDC9BB0DDDE58', '05C1BF6DA115600580'],
  [1, '20CD98B339BA78A5D0CF6953B87070B0', '05C1ED172B6B2605BFF0'],
  [-1, '19938E7A936C1C5B9E3AE842BBC16839', '05C1D1A5BDDF9C054010'],
  [5, '19C08621B135968252FB34B4CF66F811', '05C1D9C1C5517C05C014'],
  [100, '34235CFA9F2448C372F53E4119DBB9AB', '05C1E30371BF2005C05980'],
  [1.5, '35C5DDEB6C795D16A9963C73C54E97BC', '05C1E9694167A805BFF8'],
  [0.1, '21DEBA97B3AF01087F4E1F889B0A7739', '05C1D92733D70405BFB9CD673399CD6734'],
  [-123.456, '1757D540B589DD9962861CED15A7DA57', '05C1AF3FFB9F60053FA191B51D57030712'],
  [9007199254740991, '12C221C7032CED1F9E6693CE1428E6CF', '05C1B3FBA771A005C33FFFFFFFFFFFFFFE'],
  [1e21, '00F95F627D6884BCDB7D661839BEB420', '05C1E3013BEB6E05C44B8DB99B6F17BDA0'],
  [true, '0E711127C5B5A8E4726AC6DD306A3E59', '05C1D7C5A903D803'],
  [false, '2FE1BE91E90A3439635E0E9E37361EF2', '05C1DB857D857C02'],
  [null, '378867E4430E67857ACE5C908374FE16', '05C1ED45D7475601'],
  [undefined, '11622DAA78F835834610ABE56EFF5CB5', '05C1D529E345DC00'],
]

const HIERARCHICAL: readonly [readonly PartitionKeyComponent[], string][] = [
  [['A', 'B'], '14F53A0810CE6727EB1CD722D321216F1B69005CE488023CEA4DFB167FDB73E2'],
  [['0', 0], '3D01E4E92759C445D3386C5E4C22ED93155B95BEDAC4B1E9EC1CDC9BB0DDDE58'],
  [['1', 0], '3C80B1B7310BB39F29CC4EA05BDD461E155B95BEDAC4B1E9EC1CDC9BB0DDDE58'],
  [
    ['tenant1', 'user1', 'session1'],
    '0DAE0B8467B011E957BC0B8B0DEB5ACA236A5BE3329A7AD57D4B998E8602BD7B3968A88FC4D9F7E8A7CC60434EE850D5',
  ],
  [[null, undefined], '378867E4430E67857ACE5C908374FE1611622DAA78F835834610ABE56EFF5CB5'],
]

describe('effective partition keys equal those of the Cosmos client', () => {
  test.each(VECTORS)('%j', (value, version2, version1) => {
    expect(effectivePartitionKey([value], v2)).toBe(version2)
    if (version1 !== undefined) expect(effectivePartitionKey([value], v1)).toBe(version1)
  })

  test.each(HIERARCHICAL)('hierarchical %j', (components, expected) => {
    const definition = partitionKeyDefinition(components.map((_, index) => `/level${index}`))
    expect(effectivePartitionKey(components, definition)).toBe(expected)
  })

  test('a prefix of a hierarchical key covers every key that begins with it, and no other', () => {
    const definition = partitionKeyDefinition(['/tenant', '/user'])
    const range = epkPrefixRange(['tenant1'])
    const inside = effectivePartitionKey(['tenant1', 'u'], definition)
    const outside = effectivePartitionKey(['tenant2', 'u'], definition)
    expect(inside >= range.minInclusive && inside < range.maxExclusive).toBe(true)
    expect(outside >= range.minInclusive && outside < range.maxExclusive).toBe(false)
  })
})

describe('murmur3 equals the reference', () => {
  test('for bytes of every length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
        const hex = Array.from(murmur3x64(bytes), (word) => word.toString(16).padStart(8, '0'))
        expect(hex.join('')).toBe(murmurOracle.x64.hash128(bytes))
        expect(murmur3x86(bytes)).toBe(murmurOracle.x86.hash32(bytes))
      }),
      { numRuns: 1000 },
    )
  })

  test('x86-32 check values', () => {
    expect(murmur3x86(Uint8Array.of(0x00))).toBe(1364076727)
    expect(murmur3x86(Uint8Array.of(0x08, 0x41, 0x00))).toBe(3835967619)
  })
})

describe('even ranges', () => {
  test('ST-1 cover every key without gap or overlap, whatever their number', () => {
    for (const definition of [v1, v2, partitionKeyDefinition(['/a', '/b'])]) {
      for (const count of [1, 2, 3, 7, 64, 1000]) {
        const ranges = evenRanges(count, definition)
        expect(ranges).toHaveLength(count)
        expect(ranges[0]?.minInclusive).toBe('')
        expect(ranges.at(-1)?.maxExclusive).toBe('FF')
        for (const [index, range] of ranges.entries()) {
          expect(range.minInclusive < range.maxExclusive).toBe(true)
          expect(ranges[index + 1]?.minInclusive ?? 'FF').toBe(range.maxExclusive)
        }
      }
    }
  })

  test('share the keys out evenly, in both hash versions', () => {
    for (const definition of [v1, v2]) {
      const counts = evenRanges(4, definition).map(
        (range) =>
          Array.from({ length: 4000 }, (_, index) =>
            effectivePartitionKey([`key ${index}`], definition),
          ).filter((epk) => range.minInclusive <= epk && epk < range.maxExclusive).length,
      )
      expect(counts.reduce((sum, count) => sum + count)).toBe(4000)
      for (const count of counts) expect(count).toBeGreaterThan(850)
    }
  })

  test('of version 1, three are a quarter, a quarter and a half, as the service has them', () => {
    const bounds = (count: number) => evenRanges(count, v1).map(({ maxExclusive }) => maxExclusive)
    expect(bounds(3)).toEqual(['05C1D0', '05C1E0', 'FF'])
    expect(bounds(5)).toEqual(['05C1C0', '05C1D0', '05C1E0', '05C1E8', 'FF'])
    expect(bounds(6)).toHaveLength(6)
  })

  test('split points of version 1 are those of the sortable number encoding', () => {
    expect(evenRanges(4, v1).map((range) => range.maxExclusive)).toEqual([
      '05C1D0',
      '05C1E0',
      '05C1E8',
      'FF',
    ])
  })
})

describe('parts of a range', () => {
  const definitions = [v1, v2, partitionKeyDefinition(['/a', '/b'])]
  const key = (index: number, definition: (typeof definitions)[number]): string =>
    effectivePartitionKey(
      definition.paths.map((_, level) => `key ${level} ${index}`),
      definition,
    )

  test('LE-15 cover it exactly once, and hold about as many keys each', () => {
    for (const definition of definitions) {
      const keys = Array.from({ length: 8000 }, (_, index) => key(index, definition)).sort()
      const whole = { minInclusive: keys[1000]!, maxExclusive: keys[7000]! }
      for (const [range, inside] of [
        [{ minInclusive: '', maxExclusive: 'FF' }, 8000],
        [whole, 6000],
      ] as const) {
        for (const count of [1, 2, 3, 7, 16]) {
          const parts = divideRange(range, count, definition)
          expect(parts).toHaveLength(count)
          expect(parts[0]?.minInclusive).toBe(range.minInclusive)
          expect(parts.at(-1)?.maxExclusive).toBe(range.maxExclusive)
          for (const [index, part] of parts.entries()) {
            expect(part.minInclusive < part.maxExclusive).toBe(true)
            expect(parts[index + 1]?.minInclusive ?? range.maxExclusive).toBe(part.maxExclusive)
            const own = keys.filter((epk) => part.minInclusive <= epk && epk < part.maxExclusive)
            expect(own.length).toBeGreaterThan((inside / count) * 0.7)
            expect(own.length).toBeLessThan((inside / count) * 1.3)
          }
        }
      }
    }
  })

  test('LE-15 of version 1 are those of the even bounds, and cost little more than their own', () => {
    const range = evenRanges(64, v1)[9]!
    const finest = evenRanges(65_536, v1).map(({ minInclusive }) => minInclusive)
    const inside = finest.filter((bound) => rangeContainsEpk(range, bound))
    expect(inside).toHaveLength(1024)
    const built = vi.spyOn(DataView.prototype, 'setFloat64')
    const parts = divideRange(range, 256, v1)
    expect(built.mock.calls.length).toBeLessThan(300)
    vi.restoreAllMocks()
    expect(parts.map(({ minInclusive }) => minInclusive)).toEqual(
      inside.filter((_, index) => index % 4 === 0),
    )
    // Not even the finest ones are enough of them.
    expect(divideRange(range, 2048, v1).map(({ minInclusive }) => minInclusive)).toEqual(inside)
  })

  test('LE-15 are fewer where there are fewer keys', () => {
    const single = { minInclusive: '20'.padEnd(32, '0'), maxExclusive: `${'20'.padEnd(31, '0')}1` }
    expect(divideRange(single, 4, v2)).toEqual([single])
    const three = { minInclusive: '20'.padEnd(32, '0'), maxExclusive: `${'20'.padEnd(31, '0')}3` }
    expect(divideRange(three, 8, v2)).toHaveLength(3)
  })

  test('LE-15 divide the keys of one prefix of a hierarchical key too', () => {
    const definition = partitionKeyDefinition(['/a', '/b'])
    const parts = divideRange(epkPrefixRange(['tenant']), 4, definition)
    const counts = parts.map((part) => {
      const keys = Array.from({ length: 400 }, (_, n) => ['tenant', `user ${n}`] as const)
      return keys.filter((one) => rangeContainsEpk(part, effectivePartitionKey(one, definition)))
    })
    for (const { length } of counts) expect(length).toBeGreaterThan(70)
  })
})
