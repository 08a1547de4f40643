import type { WorkBudget } from './work-budget.ts'

/** What a part of a pattern stands for beside one character, by its code point. */
const ANY = -1
const ONE = -2

/** Of the budget, for a character that is looked at. */
const STEPS = 2

/** SQL's LIKE: `%` is any text, `_` one character. @throws EvaluationError when it takes too long */
export function isLike(
  text: string,
  pattern: string,
  { escape, budget }: { readonly escape: string | undefined; readonly budget: WorkBudget },
): boolean {
  // It is taken apart first, which is work, too.
  budget.spend(pattern.length)
  const parts = partsOf(pattern, escape)
  let at = 0
  let part = 0
  // Where the last `%` stood, and where the text goes on if it takes one character more.
  let anyPart = -1
  let anyAt = 0
  while (at < text.length) {
    budget.spend(STEPS)
    const wanted = parts[part]
    const character = text.codePointAt(at)
    if (wanted === ANY) {
      if (part === parts.length - 1) return true
      anyPart = part++
      anyAt = at
    } else if (wanted !== undefined && (wanted === ONE || wanted === character)) {
      part++
      at += lengthOf(character)
    } else if (anyPart >= 0) {
      part = anyPart + 1
      anyAt += lengthOf(text.codePointAt(anyAt))
      at = anyAt
    } else return false
  }
  return parts.slice(part).every((wanted) => wanted === ANY)
}

/** Half of a pair that stands alone is a character, too. */
function lengthOf(character: number | undefined): number {
  return character !== undefined && character > 0xffff ? 2 : 1
}

function partsOf(pattern: string, escape: string | undefined): readonly number[] {
  const parts: number[] = []
  let isEscaped = false
  for (const text of pattern) {
    if (!isEscaped && text === escape) isEscaped = true
    else {
      const isPlain = isEscaped || (text !== '%' && text !== '_')
      parts.push(isPlain ? (text.codePointAt(0) ?? 0) : text === '%' ? ANY : ONE)
      isEscaped = false
    }
  }
  return parts
}
