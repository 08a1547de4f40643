import { expect, test } from 'vitest'
import { manifestProblems, mapProblems, readmeProblems } from './package-rules.ts'
import { sizeProblems } from './size-limits.ts'

const address = 'https://example.org/tide'
const root = {
  version: '0.1.0',
  license: 'MIT',
  bugs: `${address}/issues`,
  repository: { type: 'git', url: `git+${address}.git` },
  engines: { node: '>=24' },
}
const manifest = {
  name: '@tidemark/tide',
  version: '0.1.0',
  description: 'Tides',
  license: 'MIT',
  homepage: `${address}/tree/main/packages/tide#readme`,
  bugs: root.bugs,
  repository: { ...root.repository, directory: 'packages/tide' },
  type: 'module',
  keywords: ['tidemark'],
  engines: root.engines,
  sideEffects: false,
  publishConfig: { access: 'public', provenance: true },
  dependencies: { '@tidemark/store': '0.1.0', hono: '^4.13.0' },
  peerDependencies: { ioredis: '^5.4.0 || ^6.0.0', tidemark: '0.1.0' },
}
const problemsOf = (changed: object): string[] =>
  manifestProblems({ ...manifest, ...changed }, { folder: 'tide', root, address })

test('a manifest that says where it comes from and what it needs is content', () => {
  expect(problemsOf({})).toEqual([])
})

test.each<readonly [object, string]>([
  [{ version: '0.2.0' }, 'has version "0.2.0" instead of "0.1.0"'],
  [{ license: undefined }, 'has license nothing instead of "MIT"'],
  [{ homepage: address }, `has homepage "${address}" instead of`],
  [{ bugs: address }, `has bugs "${address}" instead of`],
  [{ repository: root.repository }, 'has repository {"type":"git"'],
  [{ engines: { node: '>=20' } }, 'has engines {"node":">=20"} instead of'],
  [{ sideEffects: true }, 'has sideEffects true instead of false'],
  [{ publishConfig: { access: 'public' } }, 'has publishConfig {"access":"public"} instead of'],
  [{ private: true }, 'has private true instead of nothing'],
  [{ description: '' }, 'has no description'],
  [{ keywords: [] }, 'has no keyword tidemark'],
  [{ scripts: { build: 'tsc', postinstall: 'node x.js' } }, 'has the script postinstall, which'],
  [{ dependencies: { '@tidemark/store': '^0.1.0' } }, 'has @tidemark/store "^0.1.0" in'],
  [{ peerDependencies: { tidemark: '0.0.9' } }, 'has tidemark "0.0.9" in peerDependencies'],
  ...['*', '', 'latest', 'workspace:^', 'file:../x', 'npm:y@1.0.0', 'github:a/b', '1.x'].map(
    (range) => [{ optionalDependencies: { pg: range } }, `has pg "${range}" in`] as const,
  ),
])('%j is named', (changed, problem) => {
  expect(problemsOf(changed)).toEqual([expect.stringContaining(problem)])
})

const README = `# @tidemark/tide\n\n\`\`\`sh\nnpm install x\n\`\`\`\n[a](${address}/blob/main/docs/a.md) [b](#c)\n`
const readme = (text: string): string[] => readmeProblems(text, { name: '@tidemark/tide', address })

test('a README that stands by itself is content', () => {
  expect(readme(README)).toEqual([])
})

test.each([
  [README.replace('# @tidemark/tide', '# Tide'), 'does not begin with its name'],
  [README.replace('npm install', 'npm i'), 'does not say how to install it'],
  [README.replace('/docs/', '/src/'), 'without a link to the documentation'],
  [`${README}[x](../x.md)`, 'the relative link ../x.md'],
  [`${README}![x](x.png "An x")`, 'the relative link x.png'],
  [`${README}<img src="docs/x.svg">`, 'the relative link docs/x.svg'],
])('the README %j is not', (text, problem) => {
  expect(readme(text)).toEqual([expect.stringContaining(problem)])
})

const MAP = { sources: ['../src/a.ts'] }

test.each<readonly [Readonly<Record<string, string>>, readonly string[]]>([
  [{ 'dist/a.js': 'a()' }, []],
  [
    { 'dist/a.js': 'a()\n//# sourceMappingURL=a.js.map' },
    ['publishes dist/a.js without its map a.js.map'],
  ],
  [
    { 'dist/a.js.map': JSON.stringify(MAP) },
    ['publishes dist/a.js.map without its source ../src/a.ts'],
  ],
  [{ 'dist/a.js.map': JSON.stringify({ ...MAP, sourcesContent: ['a()'] }) }, []],
  [{ 'dist/a.js.map': JSON.stringify(MAP), 'src/a.ts': 'a()' }, []],
])('of the files %j, %j', (files, problems) => {
  expect(mapProblems(Object.keys(files), (file) => files[file] ?? '')).toEqual(problems)
})

test('a package that grows above its limit is named, with both sizes', () => {
  const tarball = {
    name: '@tidemark/tide',
    version: '0.1.0',
    folder: 'tide',
    path: '',
    files: [],
    packedBytes: 11_000,
    unpackedBytes: 40_001,
    integrity: '',
  }
  expect(sizeProblems(tarball, { '@tidemark/tide': [11_000, 40_001] })).toEqual([])
  expect(sizeProblems(tarball, { '@tidemark/tide': [10_000, 40_000] })).toEqual([
    'has 11 kB packed, 10 kB at most',
    'has 41 kB unpacked, 40 kB at most',
  ])
  expect(sizeProblems(tarball, {})).toEqual(['has no limit in scripts/release/size-limits.ts'])
})
