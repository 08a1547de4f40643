import rhea from 'rhea'

/** Message format of a transfer whose data sections are messages. */
export const BATCH_FORMAT = 0x80013700

// rhea's declarations leave the outcomes out.
const OUTCOMES = rhea.message as unknown as { accepted(): { described(): unknown } }
export const ACCEPTED: unknown = OUTCOMES.accepted().described()
