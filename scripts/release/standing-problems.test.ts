import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { outputOf, runProgram } from '../run-program.ts'
import { standingProblems } from './standing-problems.ts'

/** A repository with one commit that could be released. */
async function scratch() {
  const folder = await mkdtempDisposable(join(tmpdir(), 'tidemark-release-'))
  const cwd = folder.path
  const git = (...args: readonly string[]): Promise<string> =>
    outputOf(runProgram, 'git', ['-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
      cwd,
    })
  const write = (path: string, content: unknown): void => {
    mkdirSync(dirname(join(cwd, path)), { recursive: true })
    writeFileSync(join(cwd, path), typeof content === 'string' ? content : JSON.stringify(content))
  }
  const commit = async (): Promise<void> => {
    await git('add', '--all')
    await git('commit', '--quiet', '--allow-empty', '--message=Change')
  }
  const version = '0.1.0'
  write('package.json', { version, workspaces: ['packages/*'] })
  write('packages/store/package.json', { version })
  write('package-lock.json', { packages: { '': { version }, 'packages/store': { version } } })
  write('CHANGELOG.md', '# Changelog\n\n## 0.1.0 — 2026-11-27\n\n- A.\n')
  write('.changeset/README.md', 'Not a change.\n')
  await git('init', '--quiet')
  await commit()
  const problems = (): Promise<readonly string[]> => standingProblems(cwd, runProgram)
  return { git, write, commit, problems, [Symbol.asyncDispose]: () => folder.remove() }
}

test('a clean commit of one version, with its changes told, may be released; its tag may be there', async () => {
  await using repository = await scratch()
  expect(await repository.problems()).toEqual([])
  await repository.git('tag', 'v0.1.0')
  expect(await repository.problems()).toEqual([])
})

test('a changed or untracked file is refused', async () => {
  await using repository = await scratch()
  repository.write('a.ts', '1')
  expect(await repository.problems()).toEqual(['the working tree is not clean:\n    ?? a.ts'])
})

test('a pending changeset is refused, and one that cannot be read', async () => {
  await using repository = await scratch()
  repository.write('.changeset/calm-dogs.md', "---\n'tidemark': patch\n---\n\nFixed: Hosts stop.\n")
  await repository.commit()
  expect(await repository.problems()).toEqual([
    'changesets are pending (calm-dogs.md): npm run version',
  ])
  repository.write('.changeset/calm-dogs.md', 'Hosts stop.')
  await repository.commit()
  expect(await repository.problems()).toEqual([
    expect.stringContaining('.changeset/calm-dogs.md: the text must begin with'),
  ])
})

test('versions that differ are refused, in manifests and in the lock file', async () => {
  await using repository = await scratch()
  repository.write('packages/store/package.json', { version: '0.1.1' })
  repository.write('package-lock.json', { packages: { '': { version: '0.0.9' } } })
  await repository.commit()
  expect(await repository.problems()).toEqual([
    'packages/store/package.json has version 0.1.1 instead of 0.1.0',
    'package-lock.json, "", has version 0.0.9 instead of 0.1.0',
    'package-lock.json, "packages/store", has version none instead of 0.1.0',
  ])
})

test('a version that the changelog does not tell about is refused', async () => {
  await using repository = await scratch()
  repository.write('CHANGELOG.md', '# Changelog\n\n## 0.1.0-next.1 — 2026-11-27\n\n- A.\n')
  await repository.commit()
  expect(await repository.problems()).toEqual(['CHANGELOG.md has no section 0.1.0'])
  repository.write('CHANGELOG.md', '# Changelog\n\n## 0.1.0 — 2026-11-27\n\n## 0.0.9\n\n- A.\n')
  await repository.commit()
  expect(await repository.problems()).toEqual(['CHANGELOG.md has nothing under 0.1.0'])
})

test('a version whose tag is at another commit is refused', async () => {
  await using repository = await scratch()
  await repository.git('tag', '--annotate', '--message=0.1.0', 'v0.1.0')
  await repository.commit()
  expect(await repository.problems()).toEqual([
    expect.stringMatching(/^the tag v0\.1\.0 is at another commit, [\da-f]{8}$/),
  ])
})
