import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  extractPartitionKey,
  parsePartitionKeyText,
  partitionKeyComponents,
  partitionKeyDefinition,
  partitionKeyOf,
  partitionKeyPathSegments,
  partitionKeyText,
} from './partition-key.ts'

const invalid = expect.objectContaining({ code: 'ERR_INVALID_PARTITION_KEY' })

describe('ST-1 a partition key definition', () => {
  test('has one to three paths; more than one is hierarchical', () => {
    expect(partitionKeyDefinition('/a')).toEqual({ paths: ['/a'], version: 2, kind: 'Hash' })
    expect(partitionKeyDefinition(['/a', '/b/c', '/d']).kind).toBe('MultiHash')
  })

  test.each([
    [[]],
    [['/a', '/b', '/c', '/d']],
    ['a'],
    [''],
    ['/'],
    ['/a//b'],
    ['/a/'],
    ['/"a'],
    ['/"a"b'],
    ['/""'],
    [['/a', '/a']],
  ])('is refused as %j', (paths) => {
    expect(() => partitionKeyDefinition(paths)).toThrow(invalid)
  })

  test.each([
    ['/a b/c', ['a b', 'c']],
    ['/"a/b"/c', ['a/b', 'c']],
    [`/'x "y"'/z`, ['x "y"', 'z']],
    [String.raw`/"level\" 1*()"/"le/vel2"`, [String.raw`level\" 1*()`, 'le/vel2']],
    ["/it's", ["it's"]],
  ])('path %s names %j', (path, segments) => {
    expect(partitionKeyPathSegments(path)).toEqual(segments)
  })
})

describe('a partition key value', () => {
  const single = [partitionKeyPathSegments('/a')]

  test('is read out of a document; what is missing, an object or an array counts as none', () => {
    const paths = [partitionKeyPathSegments('/a/b')]
    expect(extractPartitionKey({ a: { b: 'x' } }, paths)).toEqual(['x'])
    expect(extractPartitionKey({ a: { b: null } }, paths)).toEqual([null])
    for (const document of [{}, { a: 1 }, { a: null }, { a: { b: {} } }, { a: { b: [1] } }]) {
      expect(extractPartitionKey(document, paths)).toEqual([undefined])
    }
    expect(extractPartitionKey(Object.create({ a: 'inherited' }), single)).toEqual([undefined])
  })

  test('-0 is 0, and a number that JSON cannot carry is refused', () => {
    expect(Object.is(extractPartitionKey({ a: -0 }, single)[0], 0)).toBe(true)
    expect(() => partitionKeyComponents(Number.NaN, 1)).toThrow(invalid)
    expect(() => extractPartitionKey({ a: Infinity }, single)).toThrow(invalid)
  })

  test('needs one component a path', () => {
    expect(partitionKeyComponents('x', 1)).toEqual(['x'])
    expect(partitionKeyComponents(undefined, 1)).toEqual([undefined])
    expect(() => partitionKeyComponents('x', 2)).toThrow(invalid)
    expect(() => partitionKeyComponents(['x', 'y', 'z'], 2)).toThrow(invalid)
  })

  test('types never mix in the canonical text, and it can be read back', () => {
    const component = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0 || 0),
      fc.boolean(),
      fc.constant(null),
      fc.constant(undefined),
    )
    const key = fc.array(component, { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(key, (components) => {
        expect(parsePartitionKeyText(partitionKeyText(components))).toEqual(components)
      }),
    )
    const texts = ['1', 1, true, null, undefined].map((value) => partitionKeyText([value]))
    expect(new Set(texts).size).toBe(5)
  })

  test('a canonical text that is none is refused', () => {
    for (const text of ['', '{}', '[[]]', '[{"a":1}]', '"x"']) {
      expect(() => parsePartitionKeyText(text)).toThrow(invalid)
    }
  })

  test('users see the component itself where there is one path', () => {
    expect(partitionKeyOf(['x'])).toBe('x')
    expect(partitionKeyOf([undefined])).toBe(undefined)
    expect(partitionKeyOf(['x', 1])).toEqual(['x', 1])
  })
})
