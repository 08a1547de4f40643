import {
  checkedGroupName,
  InvalidOptionError,
  PreconditionFailedError,
  rangeContainsEpk,
  systemClock,
  systemRandom,
  type Clock,
  type DeadLetter,
  type DeadLetterSink,
  type DocumentBody,
  type DocumentCollection,
  type FeedRange,
  type RequestOptions,
  type SinkCallOptions,
  type Random,
} from '@tidemark/contracts'
import {
  changeEpk,
  checkOptions,
  option,
  optionOf,
  optionRule,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import { DeadLetterContents } from './dead-letter-contents.ts'
import {
  PARTITION_KEY_PATH,
  type DeadLetterEntry,
  type ReadEntry,
} from './dead-letter-documents.ts'
import { DeadLetterIndex } from './dead-letter-index.ts'
import { RedrivenLetters } from './redriven-letters.ts'

export interface DocumentDeadLettersOptions {
  /**
   * Version of the hash of the monitored collection's partition key: it decides which lease a letter that
   * is sent back belongs to. @default 2 (what collections have unless a wire client asked for 1)
   */
  partitionKeyVersion?: 1 | 2 | undefined
  /**
   * How long what was read of letters that were sent back serves all leases of a host, in ms. Each lease asks every
   * `redrivePollMs` of its host; those that ask within this time share one point read.
   * @range any number, 0 or more @default 1_000
   */
  redriveCacheMs?: number | undefined
  /** @default the system's */
  clock?: Clock | undefined
  /** @default the system's */
  random?: Random | undefined
}

/** Which letters an operator means. */
export type DeadLetterChoice = readonly string[] | 'all'

export interface ListDeadLettersOptions {
  /** The processor group whose letters are listed. */
  readonly group: string
  /** Only letters of keys in it. @default all */
  readonly range?: FeedRange | undefined
  /** Maximum number of letters of the page. @range 1 or more @default 1_000 */
  readonly maxItemCount?: number | undefined
  /** Of the page before. @default the first page */
  readonly continuation?: string | undefined
  readonly signal?: AbortSignal | undefined
}

export interface DeadLettersPage {
  /** In the order of their LSNs. */
  readonly letters: readonly DeadLetterEntry[]
  /** Undefined when there are no more. */
  readonly continuation: string | undefined
}

/** Letters to redrive or to drop. */
export interface ChosenDeadLetters {
  /** The processor group of the letters. */
  readonly group: string
  /** Ids of letters, or all of the group. */
  readonly letters: DeadLetterChoice
  readonly signal?: AbortSignal | undefined
}

/** What was done to letters, by id. */
export interface DeadLettersOutcome {
  readonly done: readonly string[]
  /** Not there (any more). */
  readonly missing: readonly string[]
}

const RULES: OptionRules<DocumentDeadLettersOptions> = {
  partitionKeyVersion: optionOf(1, 2),
  redriveCacheMs: option.number,
  clock: option.clock,
  random: option.random,
}
const LIST_LIMIT = 1_000

const LIST_RULES: OptionRules<ListDeadLettersOptions> = {
  group: requiredOption(option.text),
  range: option.anything,
  maxItemCount: option.number,
  continuation: option.text,
  signal: option.signal,
}

const CHOICE_RULES: OptionRules<ChosenDeadLetters> = {
  group: requiredOption(option.text),
  letters: requiredOption(
    optionRule("'all' or a list of ids", (value) => value === 'all' || Array.isArray(value)),
  ),
  signal: option.signal,
}
const REDRIVE_CACHE_MS = 1_000
/** Of one letter that others keep writing. With the back-off below: about 10 s. */
const ATTEMPT_LIMIT = 20
const BACK_OFF_MS = { first: 2, highest: 2_000 }

/**
 * Dead letters as documents of any collection, local or remote, with `/partitionKey` as its partition key path.
 * A letter is kept whole, whatever the size of its change and the limit of the collection. Several hosts and
 * operators may use it at once.
 *
 * Listing reads the entries of a group, about 0.5 KB each, and no letter.
 *
 * Rejects with ERR_NOT_FOUND when the collection is missing, with ERR_INVALID_OPTION when it has another partition
 * key, and with what the collection rejects with.
 */
export class DocumentDeadLetters implements DeadLetterSink {
  readonly description: string
  readonly #collection: DocumentCollection
  readonly #partitionKeyVersion: 1 | 2
  readonly #clock: Clock
  readonly #random: Random
  readonly #index: DeadLetterIndex
  readonly #contents: DeadLetterContents
  readonly #redriven: RedrivenLetters
  #isChecked = false

  /** @throws ERR_INVALID_OPTION */
  constructor(collection: DocumentCollection, options: DocumentDeadLettersOptions = {}) {
    checkOptions({ collection }, { collection: requiredOption(option.collection) })
    checkOptions(options, RULES)
    const { clock = systemClock, random = systemRandom } = options
    const { partitionKeyVersion = 2, redriveCacheMs: cacheMs = REDRIVE_CACHE_MS } = options
    if (!(cacheMs >= 0)) {
      throw new InvalidOptionError(`redriveCacheMs must be 0 or more, got ${cacheMs}`)
    }
    this.description = `dead letters in collection ${JSON.stringify(collection.id)}`
    this.#collection = collection
    this.#clock = clock
    this.#random = random
    this.#partitionKeyVersion = partitionKeyVersion
    const index = new DeadLetterIndex(collection, random)
    const contents = new DeadLetterContents(collection)
    const finishRemoval = (entry: ReadEntry): Promise<void> => this.#finishRemoval(entry)
    this.#index = index
    this.#contents = contents
    this.#redriven = new RedrivenLetters({ index, contents, clock, cacheMs, finishRemoval })
  }

  /** Keeps a letter durably. One that is there already is stored again, and is not sent back any more. */
  async put(letter: DeadLetter, { signal }: RequestOptions = {}): Promise<void> {
    await this.#check(signal)
    const { group, id } = letter
    await this.#index.listGroup(group, signal)
    const epk = changeEpk(letter.change, this.#partitionKeyVersion)
    await this.#untilNotOvertaken(
      id,
      async () => {
        const present = await this.#index.entry(group, id, signal)
        const arrived = await this.#index.arriving(letter, { epk, present }, signal)
        if (arrived === undefined) return false
        await this.#contents.write(letter, signal)
        return (await this.#index.change(arrived, { state: 'kept' }, signal)) !== undefined
      },
      signal,
    )
    this.#redriven.forget(group, id)
  }

  async takeRedriven<T extends DocumentBody = DocumentBody>(
    request: { readonly group: string; readonly range: FeedRange } & SinkCallOptions,
  ): Promise<readonly DeadLetter<T>[]> {
    await this.#check(request.signal)
    return this.#redriven.take<T>(request, request.signal)
  }

  /** Removes a letter that was sent back. One that was put again meanwhile stays. */
  async settle({ group, id }: DeadLetter, { signal }: RequestOptions = {}): Promise<void> {
    await this.#check(signal)
    await this.#untilNotOvertaken(
      id,
      async () => {
        const entry = await this.#index.entry(group, id, signal)
        if (entry?.state !== 'redriven') return true
        return this.#remove(entry, signal)
      },
      signal,
    )
    this.#redriven.forget(group, id)
  }

  /** The groups that ever had a letter here. */
  async listGroups({ signal }: RequestOptions = {}): Promise<readonly string[]> {
    await this.#check(signal)
    return this.#index.groups(signal)
  }

  /** One page of a group's letters. Rejects with ERR_INVALID_OPTION. */
  async list(options: ListDeadLettersOptions): Promise<DeadLettersPage> {
    checkOptions(options, LIST_RULES)
    const { group, range, maxItemCount = LIST_LIMIT, continuation = '', signal } = options
    if (!(Number.isSafeInteger(maxItemCount) && maxItemCount >= 1)) {
      throw new InvalidOptionError(
        `maxItemCount must be a whole number of at least 1, got ${maxItemCount}`,
      )
    }
    await this.#check(signal)
    const entries = await this.#index.entries(checkedGroupName(group), signal)
    const matching = entries.filter(
      ({ id, epk }) => id > continuation && (range === undefined || rangeContainsEpk(range, epk)),
    )
    const page = matching.slice(0, maxItemCount)
    return {
      letters: page.map(withoutEtag),
      continuation: matching.length > maxItemCount ? page.at(-1)?.id : undefined,
    }
  }

  /** One letter with its change. Undefined when there is none. */
  async read<T extends DocumentBody = DocumentBody>(
    letterId: string,
    options: RequestOptions = {},
  ): Promise<DeadLetter<T> | undefined> {
    await this.#check(options.signal)
    return (await this.#contents.read<T>(letterId, options.signal))?.letter
  }

  /**
   * Sends letters back: the hosts of the group hand their changes to the observer once more, one by one. What fails
   * again is kept again. Letters that are on their way back already are done too.
   */
  async redrive(chosenLetters: ChosenDeadLetters): Promise<DeadLettersOutcome> {
    checkOptions(chosenLetters, CHOICE_RULES)
    const { group, letters, signal } = chosenLetters
    await this.#check(signal)
    const entries = await this.#index.entries(checkedGroupName(group), signal)
    const chosen = chosenOf(entries, letters).filter(({ state }) => state !== 'leaving')
    const waiting = chosen.filter(({ state }) => state !== 'redriven')
    const marked = await this.#index.markRedriven(group, waiting, signal)
    // Also when all were marked before: whoever marked them may have died before telling the hosts.
    if (chosen.length > 0) await this.#index.announceRedrive(group, signal)
    const before = chosen.filter(({ state }) => state === 'redriven').map(({ id }) => id)
    return outcomeOf(letters, [...before, ...marked].sort())
  }

  /** Removes letters, and with them what may be the last copy of their changes. */
  async drop(chosenLetters: ChosenDeadLetters): Promise<DeadLettersOutcome> {
    checkOptions(chosenLetters, CHOICE_RULES)
    const { group, letters, signal } = chosenLetters
    await this.#check(signal)
    const entries = await this.#index.entries(checkedGroupName(group), signal)
    const chosen = chosenOf(entries, letters)
    for (const { id } of chosen) {
      await this.#untilNotOvertaken(
        id,
        async () => {
          const entry = await this.#index.entry(group, id, signal)
          return entry === undefined || this.#remove(entry, signal)
        },
        signal,
      )
      this.#redriven.forget(group, id)
    }
    return outcomeOf(
      letters,
      chosen.map(({ id }) => id),
    )
  }

  /**
   * Removes a letter and its entry. False when the entry was written by somebody else in between. A letter that
   * is put at the same moment either stays whole, or its writer finds itself overtaken and begins again.
   */
  async #remove(entry: ReadEntry, signal?: AbortSignal): Promise<boolean> {
    const claimed = await this.#index.change(entry, { state: 'leaving' }, signal)
    if (claimed === undefined) return false
    const { group, id } = entry
    const present = await this.#contents.snapshot(id, signal)
    // Whoever puts the letter from now on writes after the snapshot, and what is written then stays.
    const now = await this.#index.entry(group, id, signal)
    if (now?.etag !== claimed.etag) return false
    await this.#contents.remove(id, present, signal)
    await this.#index.remove(claimed, signal)
    return true
  }

  async #finishRemoval(entry: ReadEntry): Promise<void> {
    await this.#remove(entry)
  }

  /** Jittered, so that two who overtake each other do not do so for ever. */
  async #untilNotOvertaken(
    letterId: string,
    attempt: () => Promise<boolean>,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<void> {
    let waitMs = BACK_OFF_MS.first
    for (let attempts = 0; attempts < ATTEMPT_LIMIT; attempts += 1) {
      if (await attempt()) return
      await this.#clock.sleep(waitMs * this.#random.fraction(), signal)
      waitMs = Math.min(waitMs * 2, BACK_OFF_MS.highest)
    }
    throw new PreconditionFailedError(letterId, `others wrote it ${ATTEMPT_LIMIT} times meanwhile`)
  }

  /** A handle may know its partition key only after it has been used. */
  async #check(signal?: AbortSignal): Promise<void> {
    if (this.#isChecked) return
    await this.#collection.readFeedRanges({ signal })
    const { id, partitionKeyPaths } = this.#collection
    if (partitionKeyPaths.length !== 1 || partitionKeyPaths[0] !== PARTITION_KEY_PATH) {
      throw new InvalidOptionError(
        `dead letter collection ${JSON.stringify(id)} has the partition key ` +
          `${JSON.stringify(partitionKeyPaths)}; dead letters need ${JSON.stringify(PARTITION_KEY_PATH)}`,
      )
    }
    this.#isChecked = true
  }
}

function withoutEtag({ etag: _, ...entry }: ReadEntry): DeadLetterEntry {
  return entry
}

function chosenOf(entries: readonly ReadEntry[], letters: DeadLetterChoice): readonly ReadEntry[] {
  if (letters === 'all') return entries
  const wanted = new Set(letters)
  return entries.filter(({ id }) => wanted.has(id))
}

function outcomeOf(letters: DeadLetterChoice, done: readonly string[]): DeadLettersOutcome {
  const found = new Set(done)
  const missing = letters === 'all' ? [] : letters.filter((id) => !found.has(id))
  return { done, missing }
}
