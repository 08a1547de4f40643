import {
  errorCode,
  systemClock,
  type Change,
  type ChangeFeedSource,
  type Clock,
  type DocumentBody,
} from '@tidemark/contracts'
import {
  checkOptions,
  option,
  optionWhole,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { Database } from '@tidemark/store'
import { databaseRule } from '../workers/job-options.ts'
import { storedForm } from '../migration/stored-form.ts'
import { documentsEqual } from '../verification/documents-equal.ts'
import { foldProperties } from './folds/fold-properties.ts'
import type { Folds } from './folds/fold.ts'
import { incomingChanges, type ViewDefinition } from './incoming-changes.ts'
import { openView, type ViewEntry } from './open-view.ts'
import { viewKeyText, type ViewKey } from './view-key.ts'
import { feedOfSource, viewSourceRule, type ViewSource } from './view-source.ts'
import { viewFunctionRules, type ViewFunctions } from './view-options.ts'

export interface VerifyViewOptions<
  T extends DocumentBody,
  F extends Folds<T>,
> extends ViewFunctions<T, F> {
  readonly source: ViewSource<T>
  /** That of the view. */
  readonly database: Database
  /** The view's name. */
  readonly id: string
  /** Keys named in the report. @range 0 or more @default 20 */
  readonly samples?: number | undefined
  /**
   * How often keys that differ are looked at again, since the source and the view change while both are read. A key differs when
   * neither side has changed between two looks.
   * @range 1 or more @default 5
   */
  readonly looks?: number | undefined
  /** Time between two looks, in which the view's workers catch up. @range 0 to 2_147_483_647 @default 1_000 */
  readonly pauseMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
}

/** A key whose values are not those of a recount. */
export interface ViewDifference {
  readonly key: ViewKey
  /** What the recount says; undefined: the key should not be there. */
  readonly expected: ViewEntry | undefined
  /** What the view has. */
  readonly found: ViewEntry | undefined
}

/** What `verifyView` found. */
export interface ViewReport {
  /** True when nothing differs and nothing is unsettled. */
  readonly same: boolean
  /** Keys of the recount. */
  readonly keys: number
  /** Documents of the source. */
  readonly documents: number
  readonly different: number
  /** The first of them. */
  readonly samples: readonly ViewDifference[]
  /** Keys that differed, and changed between any two looks: ask again when fewer writes come. */
  readonly unsettled: number
}

const RULES: OptionRules<VerifyViewOptions<never, never>> = {
  ...viewFunctionRules,
  source: requiredOption(viewSourceRule),
  database: databaseRule,
  id: requiredOption(option.text),
  samples: optionWhole(0),
  looks: optionWhole(1),
  pauseMs: optionWhole(0, 2_147_483_647),
  signal: option.signal,
  clock: option.clock,
}

const NEVER: AbortSignal = new AbortController().signal

/**
 * Reads the whole source, computes what the view should have, and compares key by key. Writers may go on meanwhile. Needs memory
 * for what each document of the source counts for. Rejects with ERR_NOT_FOUND when there is no such view.
 */
export async function verifyView<T extends DocumentBody, const F extends Folds<T>>(
  options: VerifyViewOptions<T, F>,
): Promise<ViewReport> {
  checkOptions(options, RULES)
  const { database, id, by, fold, signal = NEVER, clock = systemClock } = options
  const { samples = 20, looks = 5, pauseMs = 1_000 } = options
  const definition: ViewDefinition<T> = { by, folds: foldProperties(fold) }
  const view = openView(database, id)
  const source = await feedOfSource(options.source, { signal })
  let earlier: ReadonlyMap<string, ViewDifference> | undefined
  const settled = new Map<string, ViewDifference>()
  for (let look = 1; ; look += 1) {
    const recount = await recountView(source, definition, signal)
    const open = new Map<string, ViewDifference>()
    const found = new Map<string, ViewEntry>()
    for await (const entry of view.entries({ signal })) found.set(viewKeyText(entry.key), entry)
    for (const text of new Set([...recount.entries.keys(), ...found.keys()])) {
      // Later looks are only for what differed before: new keys are not caught up yet.
      if (earlier !== undefined && !earlier.has(text)) continue
      const sides = { expected: recount.entries.get(text), found: found.get(text) }
      if (sameSides(sides.expected, sides.found)) continue
      const key = (sides.expected ?? sides.found)?.key
      if (key === undefined) continue
      const difference = { key, ...sides }
      const before = earlier?.get(text)
      const isSettled =
        before !== undefined &&
        sameSides(before.expected, difference.expected) &&
        sameSides(before.found, difference.found)
      if (isSettled) settled.set(text, difference)
      else open.set(text, difference)
    }
    if (open.size === 0 || look >= looks) {
      return {
        same: settled.size === 0 && open.size === 0,
        keys: recount.entries.size,
        documents: recount.documents,
        different: settled.size,
        samples: [...settled.values()].slice(0, samples),
        unsettled: open.size,
      }
    }
    earlier = open
    await clock.sleep(pauseMs, signal)
  }
}

function sameSides(a: ViewEntry | undefined, b: ViewEntry | undefined): boolean {
  return a === undefined || b === undefined ? a === b : documentsEqual(a, b)
}

interface Recount {
  readonly entries: ReadonlyMap<string, ViewEntry>
  readonly documents: number
}

/** What the view should have: of the documents that are in the feed of newest versions now. */
async function recountView<T extends DocumentBody>(
  source: ChangeFeedSource<T>,
  definition: ViewDefinition<T>,
  signal: AbortSignal,
): Promise<Recount> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await recountOnce(source, definition, signal)
    } catch (error) {
      // A range was split or merged while it was read.
      if (errorCode(error) !== 'ERR_RANGE_GONE' || attempt >= MAX_ATTEMPTS) throw error
    }
  }
}

const MAX_ATTEMPTS = 10

async function recountOnce<T extends DocumentBody>(
  source: ChangeFeedSource<T>,
  definition: ViewDefinition<T>,
  signal: AbortSignal,
): Promise<Recount> {
  /** The last change of each document counts: one that is written meanwhile comes twice. */
  const last = new Map<string, ReturnType<typeof incomingChanges>[number]>()
  for (const range of await source.readFeedRanges({ signal })) {
    for await (const changes of pagesOf(source, range, signal)) {
      for (const incoming of incomingChanges(changes, definition)) {
        if (incoming.keys.length === 0) last.delete(incoming.at.id)
        else last.set(incoming.at.id, incoming)
      }
    }
  }
  const states = new Map<string, { readonly key: ViewKey; count: number; states: unknown[] }>()
  const { folds } = definition
  for (const { keys } of last.values()) {
    for (const [key, parts] of keys) {
      const text = viewKeyText(key)
      let entry = states.get(text)
      if (entry === undefined) {
        entry = { key, count: 0, states: folds.map((fold) => fold.empty) }
        states.set(text, entry)
      }
      entry.count += 1
      for (const [at, fold] of folds.entries()) {
        const part = parts[at]
        if (part === undefined) continue
        entry.states[at] = fold.change(entry.states[at], { removed: [], added: [part] }).state
      }
    }
  }
  const entries = Array.from(states, ([text, { key, count, states: of }]): [string, ViewEntry] => {
    const values = folds.map((fold, at) => [fold.name, fold.value(of[at])] as const)
    return [text, { ...storedForm(Object.fromEntries(values)), key, documents: count }]
  })
  return { entries: new Map(entries), documents: last.size }
}

async function* pagesOf<T extends DocumentBody>(
  source: ChangeFeedSource<T>,
  range: Awaited<ReturnType<ChangeFeedSource<T>['readFeedRanges']>>[number],
  signal: AbortSignal,
): AsyncGenerator<readonly Change<T>[], void, undefined> {
  let { continuation } = await source.resolveStart({ range, start: 'beginning', signal })
  for (;;) {
    const page = await source.readPage({ range, continuation, pendingDeletes: false, signal })
    yield page.changes
    if (page.caughtUp) return
    continuation = page.continuation
  }
}
