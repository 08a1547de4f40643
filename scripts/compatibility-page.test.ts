import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './repository.ts'

interface Manifest {
  readonly engines: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly version: string }>>
}

const page = readFileSync(join(ROOT, 'docs/compatibility.md'), 'utf8')
const manifests = globSync('packages/*/package.json', { cwd: ROOT }).map(
  (path) => readJson(path) as Manifest,
)
const peers = manifests
  .flatMap(({ peerDependencies = {} }) => Object.entries(peerDependencies))
  .filter(([name]) => !name.startsWith('@tidemark/'))

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8'))
}

test('the page of compatibility has every range that a package declares', () => {
  expect(manifests.length).toBeGreaterThan(10)
  const declared = [...manifests.flatMap(({ engines }) => Object.entries(engines)), ...peers]
  const ranges = new Set(declared.map(([name, range]) => `\`${name}\` \`${range}\``))
  expect([...ranges].filter((range) => !page.includes(range))).toEqual([])
})

test('the page of compatibility names the versions that the tests run', () => {
  // An engine of containers is not everywhere: its library is installed beside its tests.
  const locks = ['tests/containers/package-lock.json', 'package-lock.json']
  const packages = Object.assign(
    {},
    ...locks.map((file) => (readJson(file) as LockFile).packages),
  ) as LockFile['packages']
  const names = ['node', '@azure/service-bus', ...peers.map(([name]) => name)]
  const named = new Set(page.match(/(?<![\^~\d.])\d+\.\d+\.\d+/g))
  const run = names.map((name) => packages[`node_modules/${name}`]?.version ?? name)
  expect(run.filter((version) => !named.has(version))).toEqual([])
})
