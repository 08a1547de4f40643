/** A request that cannot be answered, and why. It becomes the answer, and never leaves the page's server. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: 'ERR_BAD_REQUEST' | 'ERR_NOT_FOUND' | 'ERR_PAGE_CLOSED' | 'ERR_REQUEST_TOO_LARGE'

  constructor(code: Refusal['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** Something is malformed, or does not go together. */
export function badRequest(message: string): Refusal {
  return new Refusal('ERR_BAD_REQUEST', message)
}

/** There is no such thing, or path. */
export function notFound(message: string): Refusal {
  return new Refusal('ERR_NOT_FOUND', message)
}
