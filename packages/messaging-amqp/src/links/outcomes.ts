import rhea from 'rhea'
import type { WireError } from '../errors/error-on-wire.ts'

interface Outcome {
  described(): unknown
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rhea's declarations leave the outcomes out.
const OUTCOMES = rhea.message as unknown as {
  accepted(): Outcome
  rejected(fields: { readonly error: WireError }): Outcome
}

/** Delivery states as rhea writes them. */
export const ACCEPTED: unknown = OUTCOMES.accepted().described()

export function rejected(error: WireError): unknown {
  return OUTCOMES.rejected({ error }).described()
}
