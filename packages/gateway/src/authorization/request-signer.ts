import { createSecretKey, type KeyObject } from 'node:crypto'
import { signature, signedText, type SignedRequest } from './signature.ts'

/** Texts that are kept: those of one second. */
const MAX_KNOWN = 1_000

/** Signs requests with a master key. */
export class RequestSigner {
  readonly #secret: KeyObject
  /** Headers by what they sign: what is asked of one resource within a second has the same. */
  readonly #known = new Map<string, string>()

  constructor(key: Uint8Array) {
    this.#secret = createSecretKey(key)
  }

  /** The authorization header. */
  authorization(request: SignedRequest): string {
    const text = signedText(request)
    const known = this.#known.get(text)
    if (known !== undefined) return known
    const token = signature(text, this.#secret).toString('base64')
    const header = encodeURIComponent(`type=master&ver=1.0&sig=${token}`)
    if (this.#known.size >= MAX_KNOWN) this.#known.clear()
    this.#known.set(text, header)
    return header
  }
}
