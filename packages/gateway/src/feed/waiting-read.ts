import { BadRequestError } from '../errors/bad-request-error.ts'
import { HEADER } from '../protocol/header-names.ts'
import { wholeNumber } from '../protocol/request-values.ts'
import type { GatewayContext, GatewayRequest } from '../requests/gateway-request.ts'

/**
 * How long a feed read waits for the next change, in ms: what our own header says, at most what the gateway allows.
 * Without the header none: a client that knows nothing of it is answered at once.
 *
 * @throws ERR_BAD_REQUEST
 */
export function waitTimeMs({ header }: GatewayRequest, { maxWaitMs }: GatewayContext): number {
  const wanted = wholeNumber(HEADER.waitMs, header(HEADER.waitMs)) ?? 0
  if (wanted < 0) throw new BadRequestError(`header ${HEADER.waitMs} must not be below 0`)
  return Math.min(wanted, maxWaitMs)
}
