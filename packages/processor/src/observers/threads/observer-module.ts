import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  InvalidOptionError,
  type DocumentBody,
  type IChangeFeedObserver,
} from '@tidemark/contracts'
import {
  checkOptions,
  option,
  requiredOption,
  optionGroup,
  type OptionRules,
} from '@tidemark/contracts/internal'

/**
 * Bounds of one thread's memory, in MB; the names are those of `node:worker_threads`. A thread that needs more ends,
 * and its host goes on; but the platform promises that only for what grows bit by bit: one built-in operation that
 * takes tens of MB at once may end the process (nodejs/node#47224).
 */
export interface ObserverThreadLimits {
  /** Size of the main part of its heap. @range any number above 0 @default Node's */
  maxOldGenerationSizeMb?: number | undefined
  /**
   * Size of the part for objects that die young.
   * @range any number above 0 @default 16 if `maxOldGenerationSizeMb` is given (what is young becomes old all at once,
   * and V8 has 16 MB for what goes beyond the limit), else Node's
   */
  maxYoungGenerationSizeMb?: number | undefined
  /** Size of its stack. @range any number above 0 @default Node's: 4 */
  stackSizeMb?: number | undefined
}

/**
 * Observers that run in worker threads, for work that would keep the event loop busy (PH-13). What an observer
 * can rely on is the same; see the README for what differs.
 */
export interface ObserverModule {
  /**
   * A module that exports `createObserver(data?)` (an `ObserverModuleFactory`), or else has a default export: a
   * class, which is constructed with the data, or a function, which is called with it. A URL, such as
   * `new URL('./my-observer.ts', import.meta.url)`, or an absolute path.
   */
  observerModule: URL | string
  /**
   * The number of threads, over which leases are spread evenly. The first thread starts at registration, each other one
   * when there is a lease for it. Use as many as there are processors to spare.
   * @range 1 or more
   */
  threads: number
  /** What the module's factory gets: a structured clone of this for each observer. @default undefined */
  observerData?: unknown
  /**
   * Calls in flight in one thread. One call keeps a thread busy that only computes; more are for observers that wait
   * in between, and for `maxConcurrentKeys`. Times `threads` at most `maxConcurrentObservers`.
   * @unit calls @range 1 or more @default 1
   */
  maxConcurrentPerThread?: number | undefined
  /** A thread that needs more memory ends; see ERR_OBSERVER_THREAD_ENDED. @default those of Node */
  resourceLimits?: ObserverThreadLimits | undefined
}

/** What a module for `observerModule` exports as `createObserver`. Called once for each lease that is opened. */
export type ObserverModuleFactory<T extends DocumentBody = DocumentBody, Data = unknown> = (
  data: Data,
) => IChangeFeedObserver<T> | Promise<IChangeFeedObserver<T>>

export interface ResolvedObserverModule {
  /** Absolute. */
  readonly href: string
  readonly threads: number
  readonly data: unknown
  readonly maxConcurrentPerThread: number
  readonly resourceLimits: ObserverThreadLimits
}

const RULES: OptionRules<ObserverModule> = {
  observerModule: option.anything,
  threads: requiredOption(option.number),
  observerData: option.anything,
  maxConcurrentPerThread: option.number,
  resourceLimits: optionGroup<ObserverThreadLimits>({
    maxOldGenerationSizeMb: option.number,
    maxYoungGenerationSizeMb: option.number,
    stackSizeMb: option.number,
  }),
}
const YOUNG_WITH_OLD_LIMIT_MB = 16

/** Whether this is a module, and not an observer that happens to have such a property. */
export function isObserverModule(value: object): value is ObserverModule {
  return 'observerModule' in value && !('processChanges' in value)
}

/** @throws ERR_INVALID_OPTION naming the option */
export function resolveObserverModule(
  module: ObserverModule,
  { maxConcurrentObservers }: { readonly maxConcurrentObservers: number },
): ResolvedObserverModule {
  checkOptions(module, RULES)
  const { observerModule, threads, observerData, maxConcurrentPerThread = 1, ...rest } = module
  checkCount({ threads })
  checkCount({ maxConcurrentPerThread })
  const calls = threads * maxConcurrentPerThread
  // More would be promised than the host may have in flight.
  if (calls > maxConcurrentObservers) {
    throw new InvalidOptionError(
      `threads (${threads}) times maxConcurrentPerThread (${maxConcurrentPerThread}) must be at most ` +
        `maxConcurrentObservers (${maxConcurrentObservers})`,
    )
  }
  return {
    href: moduleHref(observerModule),
    threads,
    data: checkedData(observerData),
    maxConcurrentPerThread,
    resourceLimits: checkedLimits(rest.resourceLimits ?? {}),
  }
}

function moduleHref(observerModule: unknown): string {
  if (observerModule instanceof URL) return observerModule.href
  if (typeof observerModule === 'string') {
    if (isAbsolute(observerModule)) return pathToFileURL(observerModule).href
    // On Windows, C:\x would be one, and was an absolute path above.
    if (URL.canParse(observerModule)) return new URL(observerModule).href
  }
  throw new InvalidOptionError(
    `observerModule must be a URL, such as new URL('./my-observer.ts', import.meta.url), or an ` +
      `absolute path, got ${show(observerModule)}`,
  )
}

function checkedData(observerData: unknown): unknown {
  try {
    // A copy: what the caller changes later must not make the threads' data differ.
    return structuredClone(observerData)
  } catch (cause) {
    throw new InvalidOptionError('observerData must be of what structured clone can copy', {
      cause,
    })
  }
}

function checkedLimits(limits: ObserverThreadLimits): ObserverThreadLimits {
  const { maxOldGenerationSizeMb, maxYoungGenerationSizeMb, stackSizeMb } = limits
  const given = { maxOldGenerationSizeMb, maxYoungGenerationSizeMb, stackSizeMb }
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || (Number.isFinite(value) && value > 0)) continue
    throw new InvalidOptionError(`resourceLimits.${name} must be above 0, got ${show(value)}`)
  }
  if (maxOldGenerationSizeMb === undefined || maxYoungGenerationSizeMb !== undefined) return given
  return { ...given, maxYoungGenerationSizeMb: YOUNG_WITH_OLD_LIMIT_MB }
}

function checkCount(option: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(option)) {
    if (Number.isSafeInteger(value) && value >= 1) continue
    throw new InvalidOptionError(`${name} must be a whole number of at least 1, got ${show(value)}`)
  }
}

function show(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}
