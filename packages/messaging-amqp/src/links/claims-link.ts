import { UnauthorizedAccessError } from '@tidemark/messaging'
import rhea from 'rhea'
import { isOurs } from '../errors/error-on-wire.ts'
import type { RheaReceiver } from '../rhea/rhea-internals.ts'
import type { LinkHost } from './client-link.ts'
import { RequestLink, type NodeAnswer, type NodeRequest } from './request-link.ts'

const MAX_TOKEN_BYTES = 16 * 1024
const SHARED_ACCESS_SIGNATURE = 'servicebus.windows.net:sastoken'

/** The node `$cbs`, which takes the client's tokens. */
export function openClaimsLink(receiver: RheaReceiver, host: LinkHost): RequestLink {
  return new RequestLink({
    receiver,
    host,
    path: '',
    rights: [],
    maxTransferBytes: MAX_TOKEN_BYTES,
    answer: (request) => Promise.resolve(putToken(request, host)),
  })
}

function putToken({ properties, body }: NodeRequest, host: LinkHost): NodeAnswer {
  const { operation, type } = properties
  if (operation !== 'put-token') return answer(400, 'The only operation is put-token.')
  if (type !== SHARED_ACCESS_SIGNATURE || typeof body !== 'string') {
    return answer(401, `The only tokens are of type ${SHARED_ACCESS_SIGNATURE}.`)
  }
  try {
    host.claims.putToken(body)
  } catch (error) {
    if (isOurs(error)) host.report('a token', error)
    return answer(
      401,
      error instanceof UnauthorizedAccessError ? error.message : 'Unauthorized access.',
    )
  }
  host.claimed()
  return answer(202, 'Accepted')
}

function answer(status: number, description: string): NodeAnswer {
  return {
    properties: { 'status-code': rhea.types.wrap_int(status), 'status-description': description },
    body: undefined,
  }
}
