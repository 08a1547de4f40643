import type { Clock } from '@tidemark/contracts'
import type { Store } from '@tidemark/store'
import type { CollectionDirectory } from '../collections/collection-directory.ts'
import type { PresentRanges } from '../collections/present-ranges.ts'
import type { RidDirectory } from '../collections/rid-directory.ts'
import type { RangeBudgets } from '../collections/range-budgets.ts'
import type { SessionGuard } from '../collections/session-progress.ts'
import type { Answer } from '../protocol/answer.ts'
import type { ResourcePath } from '../protocol/resource-path.ts'
import type { QueryBudget } from '../query/query-budget.ts'

/** One request as handlers see it. */
export interface GatewayRequest {
  readonly method: string
  readonly path: ResourcePath
  /** `http://host:port`, as the client wrote it. */
  readonly origin: string
  /** Aborted when the client is gone, the time for a request is over, or the gateway stops at once. */
  readonly signal: AbortSignal
  /** Aborted when the gateway begins to stop: waiting reads answer then. */
  readonly draining: AbortSignal
  /** Runs what only waits for a change: meanwhile the request does not count among those that are served at once. */
  readonly whileWaiting: <Result>(act: () => Promise<Result>) => Promise<Result>
  /** A header's text; undefined when it is missing or empty. Names in lower case. */
  readonly header: (name: string) => string | undefined
  /** What the query of this request, or the conditions of its writes, may cost. */
  readonly queryBudget: () => QueryBudget
  /** Resolves when it is the turn of what takes about this many steps in one piece; see `QueryTurns`. */
  readonly turn: (steps: number) => Promise<void>
  /** The body as text. Rejects with ERR_REQUEST_TOO_LARGE, ERR_CLIENT_GONE. */
  readonly readBody: () => Promise<string>
}

/** What all requests of one gateway share. */
export interface GatewayContext {
  readonly store: Store
  readonly accountId: string
  readonly clock: Clock
  readonly collections: CollectionDirectory
  readonly rids: RidDirectory
  readonly ranges: PresentRanges
  readonly sessions: SessionGuard
  readonly budgets: RangeBudgets
  /** Longest wait of a waiting read, in ms. */
  readonly maxWaitMs: number
}

/** Serves one kind of request. Rejects with coded errors. */
export type Operation = (request: GatewayRequest, context: GatewayContext) => Promise<Answer>
