import { InvalidRuleError } from '../errors/invalid-rule-error.ts'

export type Token =
  | { readonly kind: 'word'; readonly text: string; readonly at: number }
  /** An identifier in brackets or double quotes: never a keyword. */
  | { readonly kind: 'name'; readonly text: string; readonly at: number }
  | { readonly kind: 'text'; readonly text: string; readonly at: number }
  /** With its `@`. */
  | { readonly kind: 'parameter'; readonly text: string; readonly at: number }
  | { readonly kind: 'number'; readonly text: string; readonly at: number }
  | { readonly kind: 'sign'; readonly text: string; readonly at: number }
  | { readonly kind: 'end'; readonly text: ''; readonly at: number }

const PATTERN =
  /(?<space>\s+)|(?<number>(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)|(?<word>[\p{L}_][\p{L}\p{N}_]*)|(?<parameter>@[\p{L}\p{N}_]+)|'(?<text>(?:[^']|'')*)'|\[(?<bracket>(?:[^\]]|\]\])+)\]|"(?<quote>(?:[^"]|"")+)"|(?<sign><>|!=|<=|>=|[=<>+\-*/%(),;.])/giuy

/** @throws ERR_INVALID_RULE */
export function tokenize(sql: string): readonly Token[] {
  const tokens: Token[] = []
  for (let at = 0; at < sql.length;) {
    PATTERN.lastIndex = at
    const groups = PATTERN.exec(sql)?.groups
    if (groups === undefined) throw new InvalidRuleError(unreadable(sql, at))
    const token = tokenOf(groups, at)
    if (token !== undefined) tokens.push(token)
    at = PATTERN.lastIndex
  }
  return [...tokens, { kind: 'end', text: '', at: sql.length }]
}

function tokenOf(
  { number, word, parameter, text, bracket, quote, sign }: Partial<Record<string, string>>,
  at: number,
): Token | undefined {
  if (word !== undefined) return { kind: 'word', text: word, at }
  if (parameter !== undefined) return { kind: 'parameter', text: parameter, at }
  if (number !== undefined) return { kind: 'number', text: number, at }
  if (text !== undefined) return { kind: 'text', text: text.replaceAll("''", "'"), at }
  if (bracket !== undefined) return { kind: 'name', text: bracket.replaceAll(']]', ']'), at }
  if (quote !== undefined) return { kind: 'name', text: quote.replaceAll('""', '"'), at }
  if (sign !== undefined) return { kind: 'sign', text: sign, at }
  return undefined
}

function unreadable(sql: string, at: number): string {
  const found = sql[at] ?? ''
  if (found === "'") return `the text that begins at character ${at + 1} has no end`
  if (found === '[' || found === '"')
    return `the name that begins at character ${at + 1} has no end`
  return `nothing can begin with ${JSON.stringify(found)} at character ${at + 1}`
}
