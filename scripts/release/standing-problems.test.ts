import { expect, test } from 'vitest'
import { runProgram, type Outcome, type Run } from '../run-program.ts'
import { scratchRepository } from './scratch-repository.fixture.ts'
import { claimProblems, standingProblems, tagProblems } from './standing-problems.ts'

async function scratch() {
  const repository = await scratchRepository()
  const problems = (): Promise<readonly string[]> => standingProblems(repository.root, runProgram)
  return { ...repository, problems }
}

test('a clean commit of one version, with its changes told, may be released', async () => {
  await using repository = await scratch()
  expect(await repository.problems()).toEqual([])
})

test('a changed or untracked file is refused', async () => {
  await using repository = await scratch()
  repository.write('a/b.ts', '1')
  await repository.git('config', 'status.showUntrackedFiles', 'no')
  expect(await repository.problems()).toEqual(['the working tree is not clean:\n    ?? a/b.ts'])
  await repository.git('add', '--all')
  expect(await repository.problems()).toEqual(['the working tree is not clean:\n    A  a/b.ts'])
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
  repository.write(
    'CHANGELOG.md',
    '# Changelog\n\n## 0.1.0 — 2026-11-27\n\n### Added\n\n## 0.0.9\n\n- A.\n',
  )
  await repository.commit()
  expect(await repository.problems()).toEqual(['CHANGELOG.md has nothing under 0.1.0'])
})

test('nothing is released without its tag, or with one at another commit', async () => {
  await using repository = await scratch()
  const problems = (isNeeded: boolean): Promise<readonly string[]> =>
    tagProblems(repository.root, { version: '0.1.0', run: runProgram, isNeeded })
  expect(await problems(false)).toEqual([])
  expect(await problems(true)).toEqual(['the commit has no tag v0.1.0'])
  await repository.git('tag', '--annotate', '--message=0.1.0', 'v0.1.0')
  expect(await problems(true)).toEqual([])
  await repository.commit()
  for (const isNeeded of [false, true]) {
    expect(await problems(isNeeded)).toEqual([
      expect.stringMatching(/^the tag v0\.1\.0 is at another commit, [\da-f]{8}$/),
    ])
  }
})

test('nothing is released while a name at the registry is not ours, nor from another repository', async () => {
  await using repository = await scratch()
  const registry = async (answer: Partial<Outcome>): Promise<readonly string[]> => {
    const run: Run = async (command, ...call) =>
      command === 'npm'
        ? { code: 0, stdout: '', stderr: '', ...answer }
        : runProgram(command, ...call)
    return claimProblems(repository.root, run)
  }
  const ours = { stdout: 'git+https://github.com/tidemark/tidemark.git\n' }
  expect(await registry(ours)).toEqual([])
  expect(await registry({ code: 1, stderr: 'npm error code E404\n' })).toEqual([
    "@tidemark/store is nobody's at the registry yet: docs/releasing.md says how to claim it",
  ])
  expect(await registry({ stdout: 'git+https://github.com/else/tidemark.git' })).toEqual([
    '@tidemark/store at the registry is not known to be ours: of git+https://github.com/else/tidemark.git',
  ])
  const elsewhere = 'git+https://example.org/tidemark/tidemark.git'
  expect(await registry({ stdout: elsewhere })).toEqual([
    `@tidemark/store at the registry is not known to be ours: of ${elsewhere}`,
  ])
  expect(await registry({ code: 1, stderr: 'no network' })).toEqual([
    '@tidemark/store at the registry is not known to be ours: no network',
  ])
  await repository.git('remote', 'set-url', 'origin', 'https://github.com/others/fork')
  expect(await registry(ours)).toEqual([
    'package.json names the repository github.com/tidemark/tidemark, not that of the remote "origin"',
  ])
})
