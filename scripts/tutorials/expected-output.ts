/** What differs each time a reader follows a page, by its name there. */
export type Seen = Map<string, string>

/** Whether a line was printed as the page has it; then what its placeholders stood for is in `seen`. */
export function matchesLine(expected: string, printed: string, seen: Seen): boolean {
  const names: string[] = []
  const pattern = squeezed(expected)
    .split(/(<\w+>|…)/)
    .map((part) => {
      const name = /^<(\w+)>$/.exec(part)?.[1]
      if (part === '…') return '.*'
      if (name === undefined) return escaped(part)
      const value = seen.get(name)
      if (value !== undefined) return escaped(value)
      names.push(name)
      return String.raw`(\S+)`
    })
    .join('')
  const found = new RegExp(`^${pattern}$`).exec(squeezed(printed))
  for (const [index, name] of names.entries()) {
    if (found?.[index + 1] !== undefined) seen.set(name, found[index + 1] ?? '')
  }
  return found !== null
}

/** Each expected line is one of those printed, and no other is there. */
export function matchesInAnyOrder(
  expected: readonly string[],
  printed: readonly string[],
  seen: Seen,
): boolean {
  const left = [...printed]
  for (const line of expected) {
    const index = left.findIndex((one) => matchesLine(line, one, seen))
    if (index === -1) return false
    left.splice(index, 1)
  }
  return left.length === 0
}

/** Each line in its place. */
export function matchesInOrder(
  expected: readonly string[],
  printed: readonly string[],
  seen: Seen,
): boolean {
  return (
    expected.length === printed.length &&
    expected.every((line, index) => matchesLine(line, printed[index] ?? '', seen))
  )
}

/** The command with what its placeholders stand for. */
export function withSeen(command: string, seen: Seen): string {
  return command.replaceAll(
    /<(\w+)>/g,
    (placeholder, name: string) => seen.get(name) ?? placeholder,
  )
}

function escaped(text: string): string {
  return text.replaceAll(/[^\w ]/g, String.raw`\$&`)
}

/** Tables are as wide as their widest value. */
function squeezed(line: string): string {
  return line.trimEnd().replaceAll(/ +/g, ' ')
}
