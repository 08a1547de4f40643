import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { outputOf, runProgram } from '../run-program.ts'

/** A repository with one commit that could be released. */
export async function scratchRepository() {
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
  const repository = { url: 'git+https://github.com/tidemark/tidemark.git' }
  write('package.json', { version, workspaces: ['packages/*'], repository })
  write('packages/store/package.json', { name: '@tidemark/store', version })
  write('package-lock.json', { packages: { '': { version }, 'packages/store': { version } } })
  write('CHANGELOG.md', '# Changelog\n\n## 0.1.0 — 2026-11-27\n\n- A.\n')
  write('.changeset/README.md', 'Not a change.\n')
  await git('init', '--quiet')
  await git('remote', 'add', 'origin', 'git@github.com:tidemark/tidemark.git')
  await commit()
  return { root: cwd, git, write, commit, [Symbol.asyncDispose]: () => folder.remove() }
}
