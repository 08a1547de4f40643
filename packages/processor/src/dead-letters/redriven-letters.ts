import {
  rangeContainsEpk,
  type Clock,
  type DeadLetter,
  type DocumentBody,
  type FeedRange,
} from '@tidemark/contracts'
import type { DeadLetterContents } from './dead-letter-contents.ts'
import type { ReadEntry } from './dead-letter-documents.ts'
import type { DeadLetterIndex } from './dead-letter-index.ts'

/** Handed out at a time: a few, and not much more than this many characters. */
const TAKE_LIMIT = 8
const TAKE_CHARACTERS = 4 * 1024 * 1024

/** What is known of a group's letters that were sent back. */
interface KnownGroup {
  /** Of the group's document, when its entries were read. */
  readonly etag: string | undefined
  readonly checkedAtMs: number
  /** In order of id. */
  readonly sentBack: ReadonlyMap<string, ReadEntry>
}

export interface RedrivenLettersOptions {
  readonly index: DeadLetterIndex
  readonly contents: DeadLetterContents
  readonly clock: Clock
  readonly cacheMs: number
  /** A letter that was being removed when its remover died. */
  readonly finishRemoval: (entry: ReadEntry) => Promise<void>
}

/**
 * Letters that operators sent back, for the hosts to take. What is known of a group is shared by all who ask, and
 * looked up again after `cacheMs`: nothing new costs one point read, something new one read of all entries.
 */
export class RedrivenLetters {
  readonly #options: RedrivenLettersOptions
  readonly #groups = new Map<string, KnownGroup>()
  readonly #looking = new Map<string, Promise<KnownGroup>>()

  constructor(options: RedrivenLettersOptions) {
    this.#options = options
  }

  async take<T extends DocumentBody>(
    { group, range }: { readonly group: string; readonly range: FeedRange },
    signal: AbortSignal,
  ): Promise<readonly DeadLetter<T>[]> {
    signal.throwIfAborted()
    const { sentBack } = await abortable(this.#known(group), signal)
    const taken: DeadLetter<T>[] = []
    let characters = 0
    for (const { id, epk } of sentBack.values()) {
      if (!rangeContainsEpk(range, epk)) continue
      const found = await this.#takeOne<T>(group, id, signal)
      if (found === undefined) continue
      taken.push(found.letter)
      characters += found.characters
      if (taken.length >= TAKE_LIMIT || characters >= TAKE_CHARACTERS) break
    }
    return taken
  }

  /** This letter is not sent back any more. */
  forget(group: string, letterId: string): void {
    const known = this.#groups.get(group)
    if (known?.sentBack.has(letterId) !== true) return
    const sentBack = new Map(known.sentBack)
    sentBack.delete(letterId)
    this.#groups.set(group, { ...known, sentBack })
  }

  async #takeOne<T extends DocumentBody>(
    group: string,
    id: string,
    signal: AbortSignal,
  ): Promise<{ readonly letter: DeadLetter<T>; readonly characters: number } | undefined> {
    const { index, contents, finishRemoval } = this.#options
    // What is known may be old: another host may have settled it, an operator may have dropped it.
    const entry = await index.entry(group, id, signal)
    if (entry?.state === 'redriven') {
      const found = await contents.read<T>(id, signal)
      if (found !== undefined) return found
      // Its host died before it had put it away, so that the change itself was handed out again.
      await finishRemoval(entry)
    }
    this.forget(group, id)
    return undefined
  }

  #known(group: string): Promise<KnownGroup> {
    const known = this.#groups.get(group)
    const { clock, cacheMs } = this.#options
    if (known !== undefined && clock.monotonicMs() - known.checkedAtMs < cacheMs) {
      return Promise.resolve(known)
    }
    const under = this.#looking.get(group)
    if (under !== undefined) return under
    const look = this.#look(group).finally(() => this.#looking.delete(group))
    this.#looking.set(group, look)
    return look
  }

  async #look(group: string): Promise<KnownGroup> {
    const { index, clock, finishRemoval } = this.#options
    const checkedAtMs = clock.monotonicMs()
    // First the group's document: what is sent back after it was read changes it again.
    const before = this.#groups.get(group)
    const etag = await index.groupNews(group, before?.etag)
    if (etag === undefined) {
      const unchanged = this.#groups.get(group)?.sentBack ?? new Map<string, ReadEntry>()
      return this.#keep(group, { etag: before?.etag, checkedAtMs, sentBack: unchanged })
    }
    const entries = await index.entries(group)
    for (const entry of entries) if (entry.state === 'leaving') await finishRemoval(entry)
    const sentBack = entries.filter(({ state }) => state === 'redriven')
    const byId = new Map(sentBack.map((entry): [string, ReadEntry] => [entry.id, entry]))
    return this.#keep(group, { etag, checkedAtMs, sentBack: byId })
  }

  #keep(group: string, known: KnownGroup): KnownGroup {
    this.#groups.set(group, known)
    return known
  }
}

/** Ends the wait of one caller; what others wait for too goes on. */
function abortable<R>(work: Promise<R>, signal: AbortSignal): Promise<R> {
  return new Promise<R>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
