import { systemClock } from '@tidemark/contracts'
import { QueryTooCostlyError } from './query-too-costly-error.ts'
import { QueryTurns } from './query-turns.ts'

/**
 * What a query may cost. A step is one expression, one row of a JOIN, one comparison, or 32 characters that are read
 * or written: 50 to 100 ns.
 */
export interface QueryLimits {
  /**
   * Steps of one page, over all documents that it looks at.
   * @range 1 to 2_147_483_647 @default 500_000_000 (half a minute)
   */
  readonly maxPageSteps: number
  /**
   * Steps of one row with its functions and subqueries, of reading the text of a query (20 for a word or sign), or of all
   * conditions of one patch or batch. These run in one piece: other requests wait meanwhile.
   * @range 1 to 2_147_483_647 @default 1_000_000 (about 0.1 s)
   */
  readonly maxRowSteps: number
  /**
   * Characters that functions and subqueries make for one row; a place in an array counts as 8.
   * @range 1 to 2_147_483_647 @default 33_554_432
   */
  readonly maxRowChars: number
  /**
   * Characters that all requests of a gateway hold at once: bodies, parameters, what JOINs of the present rows keep, and
   * answers until they are sent. The first 262,144 of each request do not count. What comes above is 429, and can be
   * tried again. One takes 1 to 3 bytes of memory. `maxClientShare` is the share of one client.
   * @range 1 to 2_147_483_647 @default 268_435_456
   */
  readonly maxHeldChars: number
}

export const DEFAULT_QUERY_LIMITS: QueryLimits = {
  maxPageSteps: 500_000_000,
  maxRowSteps: 1_000_000,
  maxRowChars: 32 * 1024 * 1024,
  maxHeldChars: 256 * 1024 * 1024,
}

const CHARS_PER_STEP = 32
/** Memory of a place in an array, in characters. */
const ITEM_CHARS = 8
/** Steps between looks at the clock: a fraction of a millisecond. */
const STEPS_PER_LOOK = 2000
/** A page that can go on later ends after this share of its steps. */
const EARLY_END = 0.1

export interface QueryBudgetOptions {
  readonly limits?: QueryLimits | undefined
  /** Shared by what runs on one thread. @default its own */
  readonly turns?: QueryTurns | undefined
  /**
   * Asks to hold this many characters in all, of `maxHeldChars`; returns how many it may hold now. What it throws ends the
   * query. @default as many as it likes
   */
  readonly hold?: ((chars: number) => number) | undefined
  readonly signal: AbortSignal
}

/**
 * What one page of a query, or the conditions of one write, may still cost. Whatever makes rows and values is charged
 * here while it works, so that no query can hold the thread or fill the memory.
 *
 * All charges throw ERR_QUERY_TOO_COSTLY when a limit is passed.
 */
export class QueryBudget {
  readonly #limits: QueryLimits
  readonly #turns: QueryTurns
  readonly #hold: (chars: number) => number
  readonly #signal: AbortSignal
  #steps = 0
  /** Where the present row must have ended. */
  #end: number
  #parsedChars = 0
  #rowChars = 0
  #pageChars = 0
  /** Characters that it may hold without asking. */
  #mayHold = 0
  /** At once: many queries may begin in one turn of the event loop. */
  #nextLook = 0

  constructor({ limits = DEFAULT_QUERY_LIMITS, turns, hold, signal }: QueryBudgetOptions) {
    this.#limits = limits
    this.#hold = hold ?? (() => Infinity)
    this.#turns = turns ?? new QueryTurns(systemClock)
    this.#signal = signal
    this.#end = Math.min(limits.maxRowSteps, limits.maxPageSteps)
  }

  /** Steps so far. */
  get steps(): number {
    return this.#steps
  }

  /** True when a page that can go on later had better end. */
  get isPageLong(): boolean {
    return this.#steps > this.#limits.maxPageSteps * EARLY_END
  }

  /** One expression, row or comparison. */
  step(): void {
    if (++this.#steps > this.#end) throw this.#tooManySteps()
  }

  spend(steps: number): void {
    this.#steps += steps
    if (this.#steps > this.#end) throw this.#tooManySteps()
  }

  /** A text that is read from one end to the other. */
  read(chars: number): void {
    this.spend(Math.ceil(chars / CHARS_PER_STEP))
  }

  /** A text that is made. */
  make(chars: number): void {
    this.read(chars)
    this.#rowChars += chars
    const { maxRowChars } = this.#limits
    if (this.#rowChars > maxRowChars) {
      throw new QueryTooCostlyError(
        `one row of the query makes values of more than ${maxRowChars} characters (maxRowChars): ` +
          'use fewer or smaller texts and arrays in its functions and subqueries',
      )
    }
    this.#askForMemory()
  }

  /** So many characters of the page are kept by now. */
  keepPage(chars: number): void {
    this.#pageChars = chars
    this.#askForMemory()
  }

  /** The text of a body with parameters, which is parsed, and kept to the end. */
  parse(chars: number, places: number): void {
    this.spend(Math.ceil(chars / CHARS_PER_STEP) + places)
    this.#parsedChars = chars + places * ITEM_CHARS
    this.#askForMemory()
  }

  #askForMemory(): void {
    const chars = this.#parsedChars + this.#rowChars + this.#pageChars
    if (chars > this.#mayHold) this.#mayHold = this.#hold(chars)
  }

  /** An array that is made; its values are charged where they are made. */
  makeItems(count: number): void {
    this.make(count * ITEM_CHARS)
  }

  /** Characters that the present row has made so far, with those that were kept for it. */
  get rowChars(): number {
    return this.#rowChars
  }

  /**
   * The next row begins: what the one before made is given up, or was charged where it is kept.
   *
   * @param keptChars what sources of FROM and JOIN made for this row and for others
   */
  beginRow(keptChars = 0): void {
    const { maxPageSteps, maxRowSteps } = this.#limits
    this.#end = Math.min(this.#steps + maxRowSteps, maxPageSteps)
    this.#rowChars = keptChars
  }

  /** True when others are due the thread; asked between rows. */
  get turnDue(): boolean {
    if (this.#steps < this.#nextLook) return false
    this.#nextLook = this.#steps + STEPS_PER_LOOK
    return this.#turns.due
  }

  /** Lets others have the thread. Rejects with the signal's reason when the query was ended meanwhile. */
  async turn(): Promise<void> {
    await this.#turns.take(this.#steps)
    this.#signal.throwIfAborted()
  }

  #tooManySteps(): QueryTooCostlyError {
    const { maxPageSteps, maxRowSteps } = this.#limits
    if (this.#steps > maxPageSteps) {
      return new QueryTooCostlyError(
        `the query needs more than ${maxPageSteps} steps for one page (maxPageSteps): narrow it by a ` +
          'partition key or by WHERE, or use fewer JOINs',
      )
    }
    return new QueryTooCostlyError(
      `one row of the query, or its text, needs more than ${maxRowSteps} steps (maxRowSteps): use fewer or ` +
        'shorter arrays and texts',
    )
  }
}
