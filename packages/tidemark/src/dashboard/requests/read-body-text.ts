import { errorCode } from '@tidemark/contracts'
import { badRequest, Refusal } from './refusal.ts'

const MOST_BYTES = 256 * 1024

/** The body of an action. Rejects with ERR_REQUEST_TOO_LARGE, and reads no more than that; with ERR_BAD_REQUEST when it is cut off. */
export async function readBodyText({ body }: Request): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const read of wholly(body ?? [])) {
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

/** That a client leaves in between is no failure of the server. */
async function* wholly(body: AsyncIterable<unknown> | Iterable<never>): AsyncGenerator<unknown> {
  try {
    yield* body
  } catch (error) {
    if (errorCode(error)?.startsWith('ERR_') === true) throw error
    throw badRequest('the body was cut off')
  }
}
