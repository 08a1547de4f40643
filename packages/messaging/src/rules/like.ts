import type { WorkBudget } from './work-budget.ts'

type PatternPart =
  | { readonly kind: 'any' | 'one' }
  | { readonly kind: 'same'; readonly text: string }

/** SQL's LIKE: `%` is any text, `_` one character. @throws EvaluationError when it takes too long */
export function isLike(
  text: string,
  pattern: string,
  { escape, budget }: { readonly escape: string | undefined; readonly budget: WorkBudget },
): boolean {
  // Both are taken apart first, which is work, too.
  budget.spend(text.length + pattern.length)
  const characters = Array.from(text)
  const parts = partsOf(pattern, escape)
  let at = 0
  let part = 0
  // Where the last `%` stood, and where the text goes on if it takes one character more.
  let anyPart = -1
  let anyAt = 0
  while (at < characters.length) {
    budget.spend(1)
    const wanted = parts[part]
    if (wanted?.kind === 'any') {
      anyPart = part++
      anyAt = at
    } else if (wanted !== undefined && (wanted.kind === 'one' || isSame(wanted, characters[at]))) {
      part++
      at++
    } else if (anyPart >= 0) {
      part = anyPart + 1
      at = ++anyAt
    } else return false
  }
  return parts.slice(part).every(({ kind }) => kind === 'any')
}

function isSame(wanted: PatternPart, character: string | undefined): boolean {
  return wanted.kind === 'same' && wanted.text === character
}

function partsOf(pattern: string, escape: string | undefined): readonly PatternPart[] {
  const parts: PatternPart[] = []
  let isEscaped = false
  for (const text of pattern) {
    if (isEscaped) {
      parts.push({ kind: 'same', text })
      isEscaped = false
    } else if (text === escape) isEscaped = true
    else if (text === '%') parts.push({ kind: 'any' })
    else if (text === '_') parts.push({ kind: 'one' })
    else parts.push({ kind: 'same', text })
  }
  return parts
}
