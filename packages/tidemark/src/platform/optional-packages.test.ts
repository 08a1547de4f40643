import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { metricsPackages } from './optional-packages.ts'

const manifest = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, Readonly<Record<string, unknown>>>>
const peers = manifest['peerDependencies'] ?? {}

test('npm installs no peer by itself', () => {
  const optional = Object.fromEntries(Object.keys(peers).map((name) => [name, { optional: true }]))
  expect(manifest['peerDependenciesMeta']).toEqual(optional)
})

test('the command that installs metrics names versions that package.json allows', () => {
  for (const spec of metricsPackages()) {
    const [, name = '', version = ''] = /^(.+)@(.+)$/.exec(spec) ?? []
    expect(String(peers[name]).replace(/^[~^]/, ''), spec).toMatch(new RegExp(`^${version}\\b`))
  }
})
