import { createHash } from 'node:crypto'
import { cpSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { release } from './release.ts'
import { removeBuilt, strayProblems } from './release/built-anew.ts'
import { writePacked } from './release/packed.ts'
import type { Publication } from './release/publish.ts'
import { ROOT } from './repository.ts'
import { outputOf, runProgram, type Run } from './run-program.ts'
import { scratchRepository } from './release/scratch-repository.fixture.ts'

const REPOSITORY = 'git+https://github.com/tidemark/tidemark.git'

/** A repository with two tarballs that were checked, and a registry that has none. */
async function packedRepository(unchecked: readonly string[] = []) {
  const repository = await scratchRepository()
  const { root, write, git } = repository
  write('.gitignore', '.release/\ndist/\n*.log\n')
  await repository.commit()
  const packed = (name: string): Publication => {
    const path = join(root, `.release/${name}.tgz`)
    write(`.release/${name}.tgz`, `bytes of ${name}`)
    const digest = createHash('sha512').update(`bytes of ${name}`).digest('base64')
    const integrity = `sha512-${digest}`
    const sizes = { packedBytes: 1000, unpackedBytes: 2000, files: ['a.js'] }
    return { name, version: '0.1.0', folder: name, path, integrity, needs: [], ...sizes }
  }
  const publications = [packed('store'), packed('cli')]
  const commit = await git('rev-parse', 'HEAD')
  writePacked(join(root, '.release'), { commit, unchecked, publications })

  const asked: string[] = []
  const run: Run = async (command, args, options) => {
    if (command === 'git') return runProgram(command, args, options)
    asked.push([command, ...args].join(' '))
    if (args[2] === 'repository.url') return { code: 0, stdout: REPOSITORY, stderr: '' }
    if (args[0] === 'view') return { code: 1, stdout: '', stderr: 'npm error code E404\n' }
    return { code: 0, stdout: '', stderr: '' }
  }
  const logged: string[] = []
  const start = (isDryRun: boolean): Promise<boolean> =>
    release(root, {
      isDryRun,
      isPacked: true,
      distTag: undefined,
      run,
      log: (line) => void logged.push(line),
    })
  const published = (): readonly string[] =>
    asked.filter((line) => line.startsWith('npm publish')).map((line) => line.split(' ')[2] ?? '')
  return { ...repository, asked, logged, published, start }
}

test('what was checked is published as it is, and nothing else is run', async () => {
  await using repository = await packedRepository()
  await repository.git('tag', 'v0.1.0')
  expect(await repository.start(false)).toBe(true)
  const { root, asked, logged, published } = repository
  expect(published()).toEqual([join(root, '.release/store.tgz'), join(root, '.release/cli.tgz')])
  expect(asked.filter((line) => !/^npm (?:view|publish) /.test(line))).toEqual([])
  expect(logged.at(-1)).toBe('release: 0.1.0 is published, 2 packages, 2 kB, as latest, tag v0.1.0')
})

test('a dry run publishes nothing, with a tag or without', async () => {
  await using repository = await packedRepository()
  expect(await repository.start(true)).toBe(true)
  await repository.git('tag', 'v0.1.0')
  expect(await repository.start(true)).toBe(true)
  expect(repository.asked).toEqual([])
  expect(repository.logged.at(-1)).toMatch(/^release: 0\.1\.0 is ready, 2 packages/)
})

test('a commit without its tag is not published', async () => {
  await using repository = await packedRepository()
  expect(await repository.start(false)).toBe(false)
  expect(repository.logged).toEqual([
    'the commit has no tag v0.1.0',
    'release: 0.1.0 is refused, for one reason',
  ])
  expect(repository.asked).toEqual([])
})

test('a tarball that was changed is not published, nor any other', async () => {
  await using repository = await packedRepository()
  await repository.git('tag', 'v0.1.0')
  repository.write('.release/cli.tgz', 'other bytes')
  await expect(repository.start(false)).rejects.toThrow('cli.tgz is not what was checked')
  expect(repository.published()).toEqual([])
})

test('what a dry run could not check keeps its tarballs from being published', async () => {
  await using repository = await packedRepository(['signatures: no keys'])
  await repository.git('tag', 'v0.1.0')
  expect(await repository.start(true)).toBe(true)
  expect(repository.logged.at(-1)).toMatch(/; 1 check left out$/)
  expect(await repository.start(false)).toBe(false)
  expect(repository.logged.slice(-2)).toEqual([
    'signatures: no keys',
    'release: 0.1.0 is refused, for one reason',
  ])
  expect(repository.published()).toEqual([])
})

test('what was packed of another commit is not published', async () => {
  await using repository = await packedRepository()
  await repository.commit()
  await repository.git('tag', 'v0.1.0')
  await expect(repository.start(false)).rejects.toThrow('release.json is of another commit')
  expect(repository.published()).toEqual([])
})

test('what earlier builds and programs left in a folder that git ignores is not packed', async () => {
  await using repository = await packedRepository()
  const { root, write, git } = repository
  write('packages/store/README.md', '# store\n')
  await repository.commit()
  for (const file of ['dist/old.d.ts', 'dashboard/dist/old.js', 'templates/worker/debug.log'])
    write(`packages/store/${file}`, 'old')
  const files = ['README.md', 'dist/new.js', 'package.json', 'templates/worker/debug.log']
  const tarball = { name: 'store', version: '0.1.0', folder: 'store', path: '', files }
  const tarballs = [{ ...tarball, packedBytes: 1, unpackedBytes: 1, integrity: '' }]
  expect(await strayProblems(root, { tarballs, run: runProgram })).toEqual([
    'packages/store publishes templates/worker/debug.log, which is not in the commit',
  ])
  removeBuilt(root)
  const left = await git('ls-files', '--others', 'packages')
  expect(left).toBe('packages/store/templates/worker/debug.log')
})

test('the command needs no installed package, and notices an option that npm kept', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tidemark-release-'))
  for (const path of ['package.json', 'scripts']) {
    cpSync(join(ROOT, path), join(folder.path, path), { recursive: true })
  }
  const cwd = folder.path
  const usage = await outputOf(runProgram, 'npm', ['run', 'release', '--', '--help'], { cwd })
  expect(usage).toContain('usage: npm run release')
  const { code, stderr } = await runProgram('npm', ['run', 'release', '--dry-run'], { cwd })
  expect([code, stderr]).toEqual([2, expect.stringContaining('--dry-run stands before "--"')])
})
