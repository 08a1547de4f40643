type Listener = (entities: readonly number[] | undefined) => void

/**
 * Who watches the messages of a database, and what they have heard. Each transaction that changes something for
 * listeners counts one up in the file, so a process tells those of others from its own: a gap is another process'.
 */
export class MessageWatches {
  readonly #listeners = new Set<Listener>()
  /** What the listeners know of. */
  #heard = 0
  /** Commands that are on their way: their answers say what others did before them. */
  #pending = 0
  #isJudgementDue = false

  readonly #onChange: () => void

  /** `onChange` is called when the first watch begins and when the last one ends. */
  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  get size(): number {
    return this.#listeners.size
  }

  add(listener: Listener): () => void {
    // The same function may watch twice.
    const own: Listener = (entities) => listener(entities)
    this.#listeners.add(own)
    if (this.#listeners.size === 1) this.#onChange()
    return () => {
      if (this.#listeners.delete(own) && this.#listeners.size === 0) this.#onChange()
    }
  }

  began(): void {
    this.#pending++
  }

  /** Undefined: the command failed. */
  ended(result: { readonly touched: readonly number[]; readonly news: number } | undefined): void {
    this.#pending--
    if (result === undefined) {
      this.#isJudgementDue = true
      return
    }
    const { touched, news } = result
    const before = touched.length > 0 ? news - 1 : news
    const hasOthers = before > this.#heard
    this.#heard = Math.max(this.#heard, news)
    if (hasOthers) this.tell(undefined)
    else if (touched.length > 0) this.tell(touched)
  }

  /** Someone may have committed. Judged at once, or by the answers that are on their way. */
  suspect(): void {
    this.#isJudgementDue = true
  }

  /** Reads how far the file is, if that is not known, and tells the listeners if others were there. */
  judge(readNews: () => number): void {
    if (!this.#isJudgementDue || this.#pending > 0 || this.#listeners.size === 0) return
    this.#isJudgementDue = false
    const news = readNews()
    if (news <= this.#heard) return
    this.#heard = news
    this.tell(undefined)
  }

  /** The database has ended: listeners learn it from their next look. */
  end(): void {
    this.tell(undefined)
    this.#listeners.clear()
  }

  tell(entities: readonly number[] | undefined): void {
    for (const listener of this.#listeners) listener(entities)
  }
}
