import { expirySecond } from '@tidemark/store/engine'

export type Judgement = 'live' | 'expired' | 'unknown'

interface Span {
  readonly defaultTtl: number | null
  /** When its change was asked for. */
  readonly maybeFromMs: number
  /** When its change was acknowledged. */
  surelyFromMs: number
  /** When the next change was asked for. */
  surelyUntilMs: number
  /** When the next change was acknowledged. */
  maybeUntilMs: number
}

/** Which `defaultTtl` was in force when, as far as those know who asked for the changes. */
export class TtlTimeline {
  readonly #spans: Span[]

  constructor(defaultTtl: number | null) {
    this.#spans = [span(defaultTtl, 0, 0)]
  }

  /** A change was asked for. */
  begin(defaultTtl: number | null, atMs: number): void {
    this.#last.surelyUntilMs = atMs
    this.#spans.push(span(defaultTtl, atMs, Infinity))
  }

  /** The change was acknowledged. */
  done(atMs: number): void {
    const before = this.#spans.at(-2)
    if (before !== undefined) before.maybeUntilMs = atMs
    this.#last.surelyFromMs = atMs
  }

  /** After a kill: what is in force now, whether or not the last change was acknowledged. */
  resolve(defaultTtl: number | null, nowMs: number): void {
    const last = this.#last
    if (last.surelyFromMs !== Infinity) {
      if (last.defaultTtl !== defaultTtl) {
        throw new Error(`defaultTtl is ${defaultTtl}, acknowledged was ${last.defaultTtl}`)
      }
      return
    }
    if (last.defaultTtl === defaultTtl) {
      this.done(nowMs)
      return
    }
    this.#spans.pop()
    if (this.#last.defaultTtl !== defaultTtl) throw new Error(`nobody set defaultTtl ${defaultTtl}`)
    this.#last.surelyUntilMs = Infinity
  }

  /** Whether a document has expired by `atMs`: also under a value that is past (TTL-18). */
  judge(times: { readonly ts: number; readonly ttl: number }, atMs: number): Judgement {
    let judgement: Judgement = 'live'
    for (const { defaultTtl, ...when } of this.#spans) {
      const atSecondMs = expirySecond(times, defaultTtl) * 1000
      if (atSecondMs === 0) continue
      const isSure =
        when.surelyFromMs <= Math.min(atMs, when.surelyUntilMs) &&
        atSecondMs <= Math.min(atMs, when.surelyUntilMs)
      if (isSure) return 'expired'
      if (when.maybeFromMs <= atMs && atSecondMs <= Math.min(atMs, when.maybeUntilMs)) {
        judgement = 'unknown'
      }
    }
    return judgement
  }

  get #last(): Span {
    const last = this.#spans.at(-1)
    if (last === undefined) throw new Error('a timeline begins with a value')
    return last
  }
}

function span(defaultTtl: number | null, maybeFromMs: number, surelyFromMs: number): Span {
  return { defaultTtl, maybeFromMs, surelyFromMs, surelyUntilMs: Infinity, maybeUntilMs: Infinity }
}
