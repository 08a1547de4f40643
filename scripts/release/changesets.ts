import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The headings of a version in CHANGELOG.md, in their order. */
export const KINDS = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'] as const

export interface PendingChange {
  /** Of the file under `.changeset/`. */
  readonly file: string
  readonly kind: (typeof KINDS)[number]
  readonly text: string
}

export class ChangesetError extends Error {
  override readonly name = 'ChangesetError'
}

/**
 * What users will notice in the next version. While pre-releases are made, what an earlier one has is not pending.
 *
 * @throws ChangesetError naming a changeset whose text does not say under which heading it belongs
 */
export function pendingChanges(root: string): readonly PendingChange[] {
  const folder = join(root, '.changeset')
  if (!existsSync(folder)) return []
  const released = releasedBefore(join(folder, 'pre.json'))
  return readdirSync(folder)
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .filter((file) => !released.includes(file.replace(/\.md$/, '')))
    .toSorted()
    .map((file) => readChange(file, readFileSync(join(folder, file), 'utf8')))
}

/** The final version after pre-releases has the changes of them all. */
function releasedBefore(file: string): readonly string[] {
  if (!existsSync(file)) return []
  const { mode, changesets } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly mode: 'pre' | 'exit'
    readonly changesets: readonly string[]
  }
  return mode === 'pre' ? changesets : []
}

function readChange(file: string, content: string): PendingChange {
  const lines = content.replaceAll('\r\n', '\n')
  const [, summary = ''] = /^---\n[\s\S]*?\n---\n([\s\S]*)$/.exec(lines) ?? []
  const [, first, text = ''] = /^(\w+): ([\s\S]*)$/.exec(summary.trim()) ?? []
  const kind = KINDS.find((name) => name === first)
  if (kind !== undefined && text !== '') return { file, kind, text }
  throw new ChangesetError(
    `.changeset/${file}: the text must begin with one of ${KINDS.map((name) => `"${name}: "`).join(', ')}`,
  )
}
