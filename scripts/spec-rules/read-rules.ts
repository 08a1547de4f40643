/** A numbered rule of `docs/spec`. */
export interface Rule {
  readonly id: string
  /** Its page, as `store.md`. */
  readonly page: string
  /** What it says. */
  readonly text: string
  /** Where it comes from. */
  readonly source: string
}

const HEADING = /^## (?<id>[A-Z]+-\d+)$/m
const SOURCE = '*Source:*'
const PROTOCOL_ROW = /^\| (?<id>[DIO]\d+) \|/gm

/** The rules of a page: a heading with nothing but the ID, what the rule says, and its source. */
export function readRules(page: string, markdown: string): readonly Rule[] {
  const [, ...parts] = markdown.split(HEADING)
  return Array.from({ length: parts.length / 2 }, (_, index) => {
    const [text = '', source = ''] = (parts[2 * index + 1] ?? '').split(SOURCE)
    return { id: parts[2 * index] ?? '', page, text: text.trim(), source: source.trim() }
  })
}

/** Invariants and oracles: first cells of the tables of a protocol. */
export function readProtocolIds(markdown: string): readonly string[] {
  return [...markdown.matchAll(PROTOCOL_ROW)].map(({ groups }) => groups?.['id'] ?? '')
}

/** What a rule says in short, as a cell of a table. */
export function firstSentence(text: string): string {
  const [paragraph = ''] = text.split('\n\n', 1)
  const line = paragraph.replaceAll(/\s+/g, ' ')
  return (/^.*?[.:](?= |$)/.exec(line)?.[0] ?? line).replaceAll('|', String.raw`\|`)
}
