import { expect, test } from 'vitest'
import { packListProblems } from './pack-check.ts'

const manifest = {
  name: '@tidemark/tide',
  version: '0.1.0',
  bin: { tide: './dist/cli/main.js' },
  exports: {
    '.': {
      '@tidemark/source': './src/index.ts',
      types: './dist/index.d.ts',
      default: './dist/index.js',
    },
    './package.json': './package.json',
  },
}
const files = [
  'LICENSE',
  'README.md',
  'dist/cli/main.js',
  'dist/index.d.ts',
  'dist/index.js',
  'package.json',
]

test('a package of dist, README and LICENSE is content', () => {
  expect(packListProblems(manifest, files)).toEqual([])
})

test.each(['src/index.ts', 'tsconfig.json', 'LICENSE.txt', 'node_modules/x.js'])(
  '%s is not published',
  (file) => {
    expect(packListProblems(manifest, [...files, file])).toEqual([
      expect.stringContaining(`publishes ${file}: only dist`),
    ])
  },
)

test.each([
  'dist/feed.test.js',
  'dist/feed.bench.d.ts',
  'dist/writer.child.js',
  'dist/.tsbuildinfo',
])('%s is not published either', (file) => {
  expect(packListProblems(manifest, [...files, file])).toEqual([
    expect.stringContaining(`publishes ${file}`),
  ])
})

test.each(['LICENSE', 'README.md', 'dist/cli/main.js', 'dist/index.d.ts', 'dist/index.js'])(
  '%s may not be missing',
  (file) => {
    const rest = files.filter((other) => other !== file)
    expect(packListProblems(manifest, rest)).toEqual([`does not publish ${file}`])
  },
)
