/** What became of one request. */
export type FuzzOutcome<Status = number> =
  /** 0 = the connection was ended without an answer. */
  | { readonly kind: 'answered'; readonly status: Status }
  /** The client did not stay to see. */
  | { readonly kind: 'left' }
  /** An answer that no request may get: 500, or an error without a message. */
  | { readonly kind: 'fault'; readonly what: string }
  | { readonly kind: 'hang'; readonly what: string }
