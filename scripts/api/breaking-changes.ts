/** A change of an API report that may break a program which was written against the older one. */
export interface BreakingChange {
  /** Such as `@tidemark/store`. */
  readonly entry: string
  readonly name: string
  readonly kind: 'removed' | 'changed'
}

/**
 * What of the public entries is gone or reads differently. A line that only came, such as another member or option, breaks nobody
 * who calls; a line that changed may be harmless, too, but nobody has to judge it: the answer is the same, a larger number.
 */
export function breakingChanges(before: string, after: string): BreakingChange[] {
  const found: BreakingChange[] = []
  const present = publicEntries(after)
  for (const [entry, names] of publicEntries(before)) {
    for (const [name, { lines, isExported }] of names) {
      const now = present.get(entry)?.get(name)
      // What was only mentioned can go when what mentioned it has changed, and that is found there.
      if (now === undefined) {
        if (isExported) found.push({ entry, name, kind: 'removed' })
      } else if (!isPartOf(lines, now.lines)) found.push({ entry, name, kind: 'changed' })
    }
  }
  return found
}

/** The report without its internal entries: what is kept of a release. */
export function publicPart(report: string): string {
  return `${report
    .split(/\n(?=## )/)
    .filter((section) => !/^## \S+ \(internal\)/.test(section))
    .join('\n')
    .trimEnd()}\n`
}

interface Block {
  readonly lines: readonly string[]
  readonly isExported: boolean
}

function publicEntries(report: string): Map<string, Map<string, Block>> {
  const entries = new Map<string, Map<string, Block>>()
  for (const section of publicPart(report).split(/\n(?=## )/)) {
    const [heading = '', ...blocks] = section.split('\n\n')
    const entry = /^## (\S+)/.exec(heading)?.[1]
    if (entry === undefined) continue
    const names = new Map<string, Block>()
    let isExported = true
    for (const block of blocks) {
      const lines = block.trimEnd().split('\n')
      const name = nameOf(lines[0] ?? '')
      if (name === undefined) isExported = false
      else names.set(name, { lines, isExported })
    }
    entries.set(entry, names)
  }
  return entries
}

/** `// highMark is` names an export, `// Not exported, …` begins the rest. */
function nameOf(line: string): string | undefined {
  const renamed = /^\/\/ (\S+) is$/.exec(line)?.[1]
  const passedOn = /^export \{ (?:\S+ as )?(\S+) \}/.exec(line)?.[1]
  const declared = /\b(?:class|interface|type|function|const) ([\w$]+)/.exec(line)?.[1]
  return renamed ?? passedOn ?? (line.startsWith('//') ? undefined : declared)
}

/** All of `lines` are still there, in this order. */
function isPartOf(lines: readonly string[], others: readonly string[]): boolean {
  let next = 0
  for (const other of others) {
    if (other === lines[next]) next += 1
  }
  return next === lines.length
}
