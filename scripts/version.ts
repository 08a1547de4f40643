import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readArguments } from './command-line/read-arguments.ts'
import { installBeside } from './install-beside.ts'
import { TOOLS } from './pack-check.ts'
import { withSection } from './release/changelog.ts'
import { ChangesetError, pendingChanges } from './release/changesets.ts'
import { outputOf, runProgram, type Run } from './run-program.ts'
import { ROOT } from './repository.ts'

const USAGE = `usage: npm run version

Gives all packages the next version, which follows from the pending changesets, and moves their texts to CHANGELOG.md.
docs/releasing.md says when.`

/** Returns the new version. @throws ChangesetError when there is nothing to release, or a changeset has no kind */
export async function nextVersion(
  root: string,
  { day, run }: { readonly day: string; readonly run: Run },
): Promise<string> {
  const changes = pendingChanges(root)
  if (changes.length === 0) throw new ChangesetError('no changeset is pending: npx changeset')
  const manifest = join(root, 'package.json')
  const before = versionIn(manifest)
  await installBeside(TOOLS)
  const changeset = join(ROOT, TOOLS, 'node_modules/.bin/changeset')
  await outputOf(run, changeset, ['version'], { cwd: root })
  const version = versionIn(join(root, 'packages/tidemark/package.json'))
  // Of what follows, changesets knows nothing.
  replaceIn(manifest, `"version": "${before}"`, `"version": "${version}"`)
  for (const file of globSync('deploy/**/*.{yaml,yml}', { cwd: root })) {
    replaceIn(join(root, file), `tidemark:${before}`, `tidemark:${version}`)
  }
  const changelog = join(root, 'CHANGELOG.md')
  const text = readFileSync(changelog, 'utf8')
  writeFileSync(changelog, withSection(text, { version, day, changes }))
  const lockOnly = ['install', '--package-lock-only', '--ignore-scripts', '--no-audit']
  await outputOf(run, 'npm', lockOnly, { cwd: root })
  return version
}

function versionIn(file: string): string {
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }).version
}

function replaceIn(file: string, before: string, after: string): void {
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(before, after))
}

if (import.meta.main) {
  readArguments(USAGE, {})
  try {
    const day = new Date().toISOString().slice(0, 10)
    const version = await nextVersion(ROOT, { day, run: runProgram })
    console.log(`version ${version}: look at CHANGELOG.md, and commit`)
  } catch (error) {
    if (!(error instanceof ChangesetError)) throw error
    console.error(error.message)
    process.exitCode = 1
  }
}
