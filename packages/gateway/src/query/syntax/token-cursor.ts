import { NOT_SUPPORTED, refusalOf } from '../../errors/not-supported.ts'
import type { BadQueryError } from '../bad-query-error.ts'
import type { QueryBudget } from '../query-budget.ts'
import { MAX_NESTING } from '../limits.ts'
import { RESERVED_WORDS, UNSUPPORTED_CLAUSES } from './keywords.ts'
import { tokenize } from './lexer.ts'
import { badQueryAt } from './place.ts'
import type { Token } from './token.ts'

/** Walks over the tokens of one query text. */
export class TokenCursor {
  readonly text: string
  readonly #tokens: readonly Token[]
  readonly #end: Token
  #at = 0
  #nesting = 0

  /** @throws as `tokenize` */
  constructor(text: string, budget: QueryBudget | undefined) {
    this.text = text
    this.#tokens = tokenize(text, budget)
    this.#end = { kind: 'end', text: '', offset: text.length }
  }

  /** Place in the list of tokens, to come back to by `goTo`. */
  get place(): number {
    return this.#at
  }

  goTo(place: number): void {
    this.#at = place
  }

  /** What stands from a place up to the present one, as it was written. */
  textSince(place: number): string {
    const first = this.#tokens[place] ?? this.#end
    const last = this.#tokens[this.#at - 1] ?? first
    return this.text.slice(first.offset, last.offset + last.text.length)
  }

  /** The token this many places ahead, without taking it. */
  peek(ahead = 0): Token {
    return this.#tokens[this.#at + ahead] ?? this.#end
  }

  take(): Token {
    const token = this.peek()
    this.#at++
    return token
  }

  isSymbol(symbol: string, ahead = 0): boolean {
    const token = this.peek(ahead)
    return token.kind === 'symbol' && token.text === symbol
  }

  takeSymbol(symbol: string): boolean {
    const found = this.isSymbol(symbol)
    if (found) this.#at++
    return found
  }

  expectSymbol(symbol: string): void {
    if (!this.takeSymbol(symbol)) throw this.unexpected(`'${symbol}'`)
  }

  isKeyword(keyword: string, ahead = 0): boolean {
    const token = this.peek(ahead)
    return token.kind === 'word' && token.text.toUpperCase() === keyword
  }

  takeKeyword(keyword: string): boolean {
    const found = this.isKeyword(keyword)
    if (found) this.#at++
    return found
  }

  expectKeyword(keyword: string): void {
    if (!this.takeKeyword(keyword)) throw this.unexpected(keyword)
  }

  /** True when a word that may be a name stands there. */
  isName(ahead = 0): boolean {
    const token = this.peek(ahead)
    return token.kind === 'word' && !RESERVED_WORDS.has(token.text.toUpperCase())
  }

  expectName(what: string): string {
    if (!this.isName()) throw this.unexpected(what)
    return this.take().text
  }

  /** Any word, also a keyword: where only a name can stand. */
  expectWord(what: string): string {
    if (this.peek().kind !== 'word') throw this.unexpected(what)
    return this.take().text
  }

  /**
   * Runs `read` one level deeper.
   *
   * @throws ERR_BAD_QUERY before the stack could overflow
   */
  nested<T>(read: () => T): T {
    if (this.#nesting >= MAX_NESTING) {
      throw this.errorAt(this.peek(), `the query is nested more than ${MAX_NESTING} levels deep`)
    }
    this.#nesting++
    const result = read()
    this.#nesting--
    return result
  }

  /** The error that something else was expected at the present token. */
  unexpected(expected: string): BadQueryError {
    const token = this.peek()
    if (token.kind === 'end') return this.errorAt(token, `expected ${expected}, found the end`)
    const shown = token.text.length > 40 ? `${token.text.slice(0, 40)}…` : token.text
    if (this.isKeyword('RANK')) {
      return this.errorAt(token, `${refusalOf(NOT_SUPPORTED.fullTextSearch)}; RANK stands`)
    }
    if (token.kind === 'word' && UNSUPPORTED_CLAUSES.has(token.text.toUpperCase())) {
      return this.errorAt(token, `${token.text.toUpperCase()} is not supported,`)
    }
    return this.errorAt(token, `syntax error: expected ${expected}, found '${shown}'`)
  }

  errorAt(token: Token, what: string): BadQueryError {
    return badQueryAt(this.text, token.offset, what)
  }
}
