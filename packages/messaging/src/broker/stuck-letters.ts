import type { EntityRecord } from '@tidemark/store/messages'

/** Dead letters that stay in their queue although `forwardDeadLetteredMessagesTo` is set. */
export interface StuckDeadLetters {
  /** In whose dead-letter queue they are. */
  readonly entityPath: string
  /** Where they should go. */
  readonly destination: string
  readonly count: number
}

/** Dead letters up to this number cannot go to this destination as it is. */
export interface StuckLetters {
  readonly destination: number
  readonly version: number
  readonly through: number
  /** By the store's clock. Then they are tried again, with those that were locked meanwhile. */
  readonly forgetAtMs: number
}

/** What it needs of the broker. */
export interface StuckContext {
  readonly stuck: Map<number, StuckLetters>
  storeNowMs(): number
}

const STUCK_FOR_MS = 60_000

export function stuckThrough(
  context: StuckContext,
  source: EntityRecord,
  destination: EntityRecord | undefined,
): number {
  return stuckFor(context, source, destination)?.through ?? 0
}

function stuckFor(
  context: StuckContext,
  source: EntityRecord,
  destination: EntityRecord | undefined,
): StuckLetters | undefined {
  const known = context.stuck.get(source.number)
  const isOf = known?.destination === destination?.number && known?.version === destination?.version
  return isOf && known !== undefined && context.storeNowMs() < known.forgetAtMs ? known : undefined
}

/** So the next run goes on behind them, and they block nobody. */
export function noteStuck(
  context: StuckContext,
  {
    source,
    destination,
    through,
  }: {
    readonly source: EntityRecord
    readonly destination: EntityRecord | undefined
    readonly through: number | undefined
  },
): void {
  if (destination === undefined || through === undefined) return
  const known = stuckFor(context, source, destination)
  context.stuck.set(source.number, {
    destination: destination.number,
    version: destination.version,
    through,
    forgetAtMs: known?.forgetAtMs ?? context.storeNowMs() + STUCK_FOR_MS,
  })
}
