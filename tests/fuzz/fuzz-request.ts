/** A request that is well-formed HTTP and carries a right signature; what it asks for may be anything. */
export interface SignedFuzz {
  readonly kind: 'signed'
  readonly method: string
  /** As it goes over the wire. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** First a page is read, and its continuation, damaged like this, goes along as this header. */
  readonly continuation?: DamagedContinuation | undefined
  /** The client leaves after so many ms, whatever has come by then. */
  readonly leaveAfterMs?: number | undefined
}

export interface DamagedContinuation {
  readonly header: 'x-ms-continuation' | 'if-none-match'
  /** Where, as a share of its length, and by what. */
  readonly at: number
  readonly by: string
}

/** Bytes on a connection of their own. `%SIGN%…%` in them is replaced, see `sign-raw.ts`. */
export interface RawFuzz {
  readonly kind: 'raw'
  readonly chunks: readonly Buffer[]
  /** Between chunks. */
  readonly gapMs: number
  /** `stay`: wait for an answer; `leave`: go at once after the last byte; `reset`: the same by RST. */
  readonly afterwards: 'stay' | 'leave' | 'reset'
}

export type FuzzRequest = SignedFuzz | RawFuzz
