import { InvalidOptionError } from '@tidemark/contracts'
import { checkOptions, option, type OptionRules } from '@tidemark/contracts/internal'
import { containerNameRules, type ContainerName } from './remote-container.ts'

/** Which feed to read, and how. */
export interface ChangeFeedOptions extends ContainerName {
  /**
   * Maximum number of changes of a page, if the reader gives none.
   * @range 1 or more; or -1 @default the server's choice
   */
  readonly maxItemCount?: number | undefined
  /**
   * No page shows a state older than this token's (CF-15): the server waits for it, else ERR_SESSION_AHEAD. As a
   * client gets it with the answer to a write (`x-ms-session-token`). @default none
   */
  readonly sessionToken?: string | undefined
  /**
   * Poll interval at a Tidemark gateway that allows no waiting reads, in ms. At other servers, the host's
   * `feedPollDelayMs` applies.
   * @range 1 or more @default 1_000
   */
  readonly pollIntervalMs?: number | undefined
}

/** With what ends the opening. */
export type OpenFeedOptions = ChangeFeedOptions & { readonly signal?: AbortSignal | undefined }

export interface ResolvedFeedOptions {
  readonly maxItemCount: number | undefined
  readonly sessionToken: string | undefined
  readonly pollIntervalMs: number
}

const RULES: OptionRules<OpenFeedOptions> = {
  ...containerNameRules,
  maxItemCount: option.number,
  sessionToken: option.text,
  pollIntervalMs: option.number,
  signal: option.signal,
}

/** @throws ERR_INVALID_OPTION */
export function resolveFeedOptions(options: OpenFeedOptions): ResolvedFeedOptions {
  checkOptions(options, RULES)
  const { maxItemCount, sessionToken, pollIntervalMs = 1000 } = options
  if (maxItemCount !== undefined && maxItemCount !== -1 && !isCount(maxItemCount)) {
    throw new InvalidOptionError(`maxItemCount must be -1 or above 0, got ${String(maxItemCount)}`)
  }
  if (!isCount(pollIntervalMs)) {
    throw new InvalidOptionError(`pollIntervalMs must be above 0, got ${String(pollIntervalMs)}`)
  }
  return { maxItemCount, sessionToken, pollIntervalMs }
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 1
}
