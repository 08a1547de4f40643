import rhea from 'rhea'
import { errorOnWire, isOurs } from '../errors/error-on-wire.ts'
import { statusCode } from '../management/status-codes.ts'
import type { RheaReceiver } from '../rhea/rhea-internals.ts'
import { unwrapped } from '../values/typed-values.ts'
import { parseAddress } from './address.ts'
import { NODE_RIGHTS, type LinkHost } from './client-link.ts'
import { findEntity } from './find-entity.ts'
import { RequestLink, type NodeAnswer, type NodeRequest } from './request-link.ts'

const MAX_TOKEN_BYTES = 16 * 1024

/** The node `$cbs`, which takes the client's tokens. */
export function openClaimsLink(receiver: RheaReceiver, host: LinkHost): RequestLink {
  return new RequestLink({
    receiver,
    host,
    path: '',
    rights: [],
    maxTransferBytes: MAX_TOKEN_BYTES,
    answer: (request) => putToken(request, host),
  })
}

/** Whatever the type says: Python sends a shared access signature as `jwt`. */
async function putToken({ properties, body }: NodeRequest, host: LinkHost): Promise<NodeAnswer> {
  const { operation, name } = properties
  const token = unwrapped(body)
  if (operation !== 'put-token') return answer(400, 'The only operation is put-token.')
  if (typeof token !== 'string') return answer(401, 'The token must be a text.')
  try {
    host.claims.putToken(token)
    host.claimed()
    await assertExists(name, host)
    return answer(202, 'Accepted')
  } catch (error) {
    if (isOurs(error)) host.report('a token', error)
    const { condition, description } = errorOnWire(error)
    return answer(statusCode(condition), description)
  }
}

/** A client learns from its token that its entity is missing, as from the service: Go looks nowhere else. */
async function assertExists(audience: unknown, { claims, front }: LinkHost): Promise<void> {
  const address = parseAddress(audience)
  if (address === undefined || address.node === 'claims') return
  const { path } = address
  if (NODE_RIGHTS.some((right) => claims.permits(right, path))) await findEntity(front, path)
}

function answer(status: number, description: string): NodeAnswer {
  return {
    properties: { 'status-code': rhea.types.wrap_int(status), 'status-description': description },
    body: undefined,
  }
}
