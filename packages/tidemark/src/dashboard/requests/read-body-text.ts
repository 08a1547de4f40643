import { badRequest, Refusal } from './refusal.ts'

const MOST_BYTES = 256 * 1024

/** The body of an action. Rejects with ERR_REQUEST_TOO_LARGE, and reads no more than that. */
export async function readBodyText({ body }: Request): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body ?? []) {
    const read: unknown = piece
    if (!(read instanceof Uint8Array)) throw badRequest('the body is no bytes')
    bytes += read.byteLength
    if (bytes > MOST_BYTES) {
      const message = `the body of an action has at most ${MOST_BYTES} bytes`
      throw new Refusal('ERR_REQUEST_TOO_LARGE', message)
    }
    pieces.push(read)
  }
  return Buffer.concat(pieces).toString('utf8')
}
