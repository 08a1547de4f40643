import rhea from 'rhea'
import type { Outcome } from '@tidemark/messaging/front'
import type { WireError } from '../errors/error-on-wire.ts'

interface RheaOutcome {
  described(): unknown
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rhea's declarations leave the outcomes out.
const OUTCOMES = rhea.message as unknown as {
  accepted(): RheaOutcome
  modified(): RheaOutcome
  released(): RheaOutcome
  rejected(fields?: { readonly error: WireError }): RheaOutcome
}

/** Delivery states as rhea writes them. */
export const ACCEPTED: unknown = OUTCOMES.accepted().described()
const MODIFIED: unknown = OUTCOMES.modified().described()

/**
 * The answer to a settlement that was done: the outcome that the client asked for, which clients compare. Without an error:
 * clients take any for a refusal.
 */
export const SETTLED_AS: Readonly<Record<Outcome['kind'], unknown>> = {
  complete: ACCEPTED,
  abandon: MODIFIED,
  defer: MODIFIED,
  release: OUTCOMES.released().described(),
  deadLetter: OUTCOMES.rejected().described(),
}

export function rejected(error: WireError): unknown {
  return OUTCOMES.rejected({ error }).described()
}
