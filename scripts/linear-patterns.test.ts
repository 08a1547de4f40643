import { expect, test } from 'vitest'
import { notLinear, packagePatterns, patternsOf } from './linear-patterns.ts'
import { ROOT } from './repository.ts'

test('every regular expression of the packages takes linear time, whatever the text', async () => {
  const patterns = packagePatterns(ROOT)
  expect(patterns.length).toBeGreaterThan(150)
  expect(await notLinear(patterns)).toEqual([])
})

test('one that takes longer is named with its place, also where constants make it up', async () => {
  const text = [
    'const SPACES = String.raw`\\s*`',
    'const TRIMMED = new RegExp(`${SPACES}$`)',
    'const SLASHES = /^\\/+|\\/+$/g',
    'const SLASH = /\\//',
  ].join('\n')
  const patterns = patternsOf('a/src/trim.ts', text)
  expect(patterns).toHaveLength(3)
  expect(await notLinear(patterns)).toEqual([
    'packages/a/src/trim.ts:2: /\\s*$/ takes 2nd degree polynomial time',
    'packages/a/src/trim.ts:3: /^\\/+|\\/+$/g takes 2nd degree polynomial time',
  ])
})

test('one that no constants of its file make up is refused', () => {
  expect(() => patternsOf('a/src/of.ts', 'const of = (text) => new RegExp(text)')).toThrow(
    'text is not defined',
  )
})
