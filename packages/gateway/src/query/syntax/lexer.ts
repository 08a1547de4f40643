import { BadQueryError } from '../bad-query-error.ts'
import { MAX_QUERY_CHARS } from '../limits.ts'
import type { QueryBudget } from '../query-budget.ts'
import { badQueryAt } from './place.ts'
import type { Token } from './token.ts'

/** Of a token, with what the parser makes of it. */
const TOKEN_STEPS = 20
const SPACES = /\s+/y
const WORD = /[\p{L}_][\p{L}\p{N}_]*/uy
const PARAMETER = /@[\p{L}\p{N}_]+/uy
const NUMBER = /0[xX][\da-fA-F]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?/y
/** Longer ones first. */
const SYMBOL = />>>|<<|>>|<=|>=|<>|!=|\|\||\?\?|[-+*/%=<>&|^~?:.,()[\]{}]/y
const ESCAPES: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  '"': '"',
  "'": "'",
  '\\': '\\',
  '/': '/',
}

/**
 * Cuts a query text into tokens; the last one is `end`.
 *
 * @throws ERR_BAD_QUERY for a text that is too long, an unknown character, or an unfinished string; ERR_QUERY_TOO_COSTLY
 */
export function tokenize(text: string, budget?: QueryBudget): Token[] {
  if (text.length > MAX_QUERY_CHARS) {
    throw new BadQueryError(`a query has at most ${MAX_QUERY_CHARS} characters, got ${text.length}`)
  }
  const tokens: Token[] = []
  let offset = skipBlanks(text, 0)
  while (offset < text.length) {
    budget?.spend(TOKEN_STEPS)
    const token = readToken(text, offset)
    tokens.push(token)
    offset = skipBlanks(text, offset + token.text.length)
  }
  tokens.push({ kind: 'end', text: '', offset })
  return tokens
}

function skipBlanks(text: string, offset: number): number {
  for (let at = offset; ;) {
    at += match(SPACES, text, at).length
    const close = text.startsWith('--', at) ? '\n' : text.startsWith('/*', at) ? '*/' : undefined
    if (close === undefined) return at
    const end = text.indexOf(close, at + '--'.length)
    if (end === -1 && close === '*/') {
      throw badQueryAt(text, at, 'a comment without its end begins')
    }
    at = end === -1 ? text.length : end + close.length
  }
}

/** What a sticky expression finds right there, else an empty text. */
function match(expression: RegExp, text: string, offset: number): string {
  expression.lastIndex = offset
  return expression.exec(text)?.[0] ?? ''
}

function readToken(text: string, offset: number): Token {
  const first = text.charAt(offset)
  if (first === '"' || first === "'") return readString(text, offset)
  const word = match(WORD, text, offset)
  if (word !== '') return { kind: 'word', text: word, offset }
  const parameter = match(PARAMETER, text, offset)
  if (parameter !== '') return { kind: 'parameter', text: parameter, offset }
  const number = match(NUMBER, text, offset)
  if (number !== '') return numberToken(text, number, offset)
  const symbol = match(SYMBOL, text, offset)
  if (symbol !== '') return { kind: 'symbol', text: symbol, offset }
  const shown = String.fromCodePoint(text.codePointAt(offset) ?? 0)
  throw badQueryAt(text, offset, `unexpected character ${JSON.stringify(shown)}`)
}

function numberToken(text: string, found: string, offset: number): Token {
  const glued = match(WORD, text, offset + found.length)
  const value = Number(found)
  if (glued !== '' || !Number.isFinite(value)) {
    throw badQueryAt(text, offset, `${JSON.stringify((found + glued).slice(0, 40))} is no number`)
  }
  return { kind: 'number', value, text: found, offset }
}

function readString(text: string, offset: number): Token {
  const quote = text.charAt(offset)
  const parts: string[] = []
  let at = offset + 1
  for (;;) {
    const start = at
    while (at < text.length && text.charAt(at) !== quote && text.charAt(at) !== '\\') at++
    parts.push(text.slice(start, at))
    if (at >= text.length)
      throw badQueryAt(text, offset, 'a string without its closing quote begins')
    if (text.charAt(at) === quote) break
    const [unit, length] = readEscape(text, at)
    parts.push(unit)
    at += length
  }
  return { kind: 'string', value: parts.join(''), text: text.slice(offset, at + 1), offset }
}

function readEscape(text: string, offset: number): [unit: string, length: number] {
  const letter = text.charAt(offset + 1)
  if (Object.hasOwn(ESCAPES, letter)) return [ESCAPES[letter] ?? '', 2]
  const digits = text.slice(offset + 2, offset + 6)
  if (letter === 'u' && /^[\da-fA-F]{4}$/.test(digits)) {
    return [String.fromCharCode(Number.parseInt(digits, 16)), 6]
  }
  throw badQueryAt(text, offset, `unknown escape sequence ${JSON.stringify(`\\${letter}`)}`)
}
