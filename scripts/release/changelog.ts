import { KINDS, type PendingChange } from './changesets.ts'

/** The text of a version in CHANGELOG.md, undefined when it has none. */
export function sectionOf(changelog: string, version: string): string | undefined {
  const [, ...sections] = changelog.split(/^## /m)
  const section = sections.find((text) => text.split(/\s/, 1)[0] === version)
  return section?.replace(/^.*\n/, '').trim()
}

/** The changelog with a section for a new version, above those of earlier ones. */
export function withSection(changelog: string, { version, day, changes }: NewVersion): string {
  const blocks = KINDS.map((kind) => ({
    kind,
    items: changes.filter((change) => change.kind === kind),
  }))
    .filter(({ items }) => items.length > 0)
    .map(({ kind, items }) => `### ${kind}\n\n${items.map(({ text }) => bullet(text)).join('\n')}`)
  const section = [`## ${version} — ${day}`, ...blocks].join('\n\n')
  const [head = '', ...rest] = changelog.split(/^(?=## )/m)
  return [`${head.trimEnd()}\n\n`, `${section}\n\n`, ...rest].join('').trimEnd().concat('\n')
}

interface NewVersion {
  readonly version: string
  /** As ISO 8601 has it. */
  readonly day: string
  readonly changes: readonly PendingChange[]
}

function bullet(text: string): string {
  return `- ${text.replaceAll(/\n(?=.)/g, '\n  ')}`
}
