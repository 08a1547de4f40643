import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { sectionOf, withSection } from './release/changelog.ts'
import { pendingChanges } from './release/changesets.ts'
import { runProgram } from './run-program.ts'
import { ROOT } from './repository.ts'
import { nextVersion } from './version.ts'

const PINS = { dependencies: { '@tidemark/store': '0.1.0' } }

/** A workspace like ours, small, with our settings of changesets. */
async function scratch(changesets: Readonly<Record<string, string>>) {
  const folder = await mkdtempDisposable(join(tmpdir(), 'tidemark-version-'))
  const write = (path: string, content: unknown): void => {
    mkdirSync(dirname(join(folder.path, path)), { recursive: true })
    const text = typeof content === 'string' ? content : `${JSON.stringify(content, null, 2)}\n`
    writeFileSync(join(folder.path, path), text)
  }
  const member = (path: string, name: string, fields: object): void =>
    write(`${path}/package.json`, { name, version: '0.1.0', ...fields })
  const workspaces = ['packages/*', 'deploy/image']
  write('package.json', { name: 'scratch', version: '0.1.0', private: true, workspaces })
  write('package-lock.json', { name: 'scratch', lockfileVersion: 3, packages: {} })
  member('packages/store', '@tidemark/store', {})
  member('packages/gateway', '@tidemark/gateway', PINS)
  member('packages/create-tidemark', 'create-tidemark', {})
  member('packages/tidemark', 'tidemark', {
    ...PINS,
    peerDependencies: { '@tidemark/gateway': '0.1.0' },
    peerDependenciesMeta: { '@tidemark/gateway': { optional: true } },
  })
  member('deploy/image', '@tidemark/image', { private: true, ...PINS })
  write('deploy/kubernetes/gateway.yaml', 'image: registry.example.com/tidemark:0.1.0\n')
  write('CHANGELOG.md', '# Changelog\n\nText.\n\n## 0.1.0 — 2026-11-27\n\n### Added\n\n- A.\n')
  cpSync(join(ROOT, '.changeset/config.json'), join(folder.path, '.changeset/config.json'))
  for (const [name, text] of Object.entries(changesets)) write(`.changeset/${name}.md`, text)
  const read = (path: string): string => readFileSync(join(folder.path, path), 'utf8')
  return { root: folder.path, write, read, [Symbol.asyncDispose]: () => folder.remove() }
}

const change = (bump: string, text: string): string => `---\n'tidemark': ${bump}\n---\n\n${text}\n`

test('a version reaches every package, what they need of each other, the lock file and the changelog', async () => {
  await using repository = await scratch({
    // As an editor on Windows ends its lines.
    'brave-cats': change('patch', 'Fixed: Hosts stop\nwhen they shall.').replaceAll('\n', '\r\n'),
    'calm-dogs': change('minor', 'Added: `tidemark tide`.'),
  })
  const { root, read } = repository
  expect(await nextVersion(root, { day: '2026-12-24', run: runProgram })).toBe('0.2.0')

  const manifests = [
    'packages/store',
    'packages/gateway',
    'packages/create-tidemark',
    'packages/tidemark',
    'deploy/image',
  ].map((folder) => read(`${folder}/package.json`))
  for (const manifest of [...manifests, read('package.json')]) {
    expect(manifest).toContain('"version": "0.2.0"')
    expect(manifest).not.toContain('0.1.0')
  }
  expect(read('package-lock.json')).not.toContain('0.1.0')
  expect(read('package-lock.json').match(/"version": "0\.2\.0"/g)).toHaveLength(7)
  expect(read('deploy/kubernetes/gateway.yaml')).toContain('tidemark:0.2.0')
  expect(read('CHANGELOG.md')).toBe(`# Changelog

Text.

## 0.2.0 — 2026-12-24

### Added

- \`tidemark tide\`.

### Fixed

- Hosts stop
  when they shall.

## 0.1.0 — 2026-11-27

### Added

- A.
`)
  expect(existsSync(join(root, '.changeset/brave-cats.md'))).toBe(false)
  await expect(nextVersion(root, { day: '2026-12-25', run: runProgram })).rejects.toThrow(
    'no changeset is pending',
  )
})

test('a changeset that does not say what kind of change it is stops everything', async () => {
  await using repository = await scratch({ 'brave-cats': change('patch', 'Hosts stop.') })
  const { root, read } = repository
  await expect(nextVersion(root, { day: '2026-12-24', run: runProgram })).rejects.toThrow(
    '.changeset/brave-cats.md: the text must begin with one of "Added: "',
  )
  expect(read('packages/store/package.json')).toContain('0.1.0')
})

test('what a pre-release has is pending again for the final version only', async () => {
  await using repository = await scratch({
    'brave-cats': change('patch', 'Fixed: Hosts stop.'),
    'calm-dogs': change('minor', 'Added: `tidemark tide`.'),
  })
  const { root, write } = repository
  const kinds = (): readonly string[] => pendingChanges(root).map(({ kind }) => kind)
  expect(kinds()).toEqual(['Fixed', 'Added'])
  write('.changeset/pre.json', { mode: 'pre', tag: 'next', changesets: ['brave-cats'] })
  expect(kinds()).toEqual(['Added'])
  write('.changeset/pre.json', { mode: 'exit', tag: 'next', changesets: ['brave-cats'] })
  expect(kinds()).toEqual(['Fixed', 'Added'])
})

test("the project's own changesets say what kind of change they are", () => {
  expect(() => pendingChanges(ROOT)).not.toThrow()
})

test('a section is that of its version alone', () => {
  const changelog = withSection('# Changelog\n', { version: '1.0.0-next.1', day: 'x', changes: [] })
  expect(sectionOf(changelog, '1.0.0')).toBeUndefined()
  expect(sectionOf(changelog, '1.0.0-next.1')).toBe('')
})
