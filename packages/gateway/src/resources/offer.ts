import { BadRequestError } from '@tidemark/contracts'
import { isJsonRecord, type JsonRecord } from '@tidemark/contracts/internal'
import { ridBytes, MAX_PARTITION_COUNT } from '@tidemark/store/engine'
import { HEADER } from '../protocol/header-names.ts'
import { parseJson, wholeNumber } from '../protocol/request-values.ts'
import type { GatewayRequest } from '../requests/gateway-request.ts'

/** The throughput that a container was given. It decides how many pkranges there are, and nothing else. */
export interface Offer {
  /** Request units a second; of autoscale, the present ones. */
  readonly throughput: number
  /** Of autoscale. */
  readonly maxThroughput?: number | undefined
}

/** The container or database that an offer belongs to. */
export interface OfferOwner {
  readonly rid: string
  readonly etag: string
  readonly ts: number
  readonly resource: string
}

/** As of a container that is made without a word about it. */
export const DEFAULT_OFFER: Offer = { throughput: 400 }

/** One pkrange for each of these begun, as in the service. */
const UNITS_PER_RANGE = 10_000
const LEAST_UNITS = 400
const MOST_UNITS = MAX_PARTITION_COUNT * UNITS_PER_RANGE
const UNIT_STEP = 100
/** Autoscale keeps at least a tenth. */
const AUTOSCALE_SHARE = 10

/**
 * What a new container is given: what its headers say, else the default.
 *
 * @throws ERR_BAD_REQUEST
 */
export function offerOfHeaders(request: GatewayRequest): Offer {
  return givenOffer(request) ?? DEFAULT_OFFER
}

/**
 * What the headers of a request say; undefined when they say nothing.
 *
 * @throws ERR_BAD_REQUEST
 */
export function givenOffer({ header }: GatewayRequest): Offer | undefined {
  const autopilot = header(HEADER.autopilotSettings)
  if (autopilot !== undefined) return autoscaleOffer(parseJson(autopilot))
  const throughput = wholeNumber(HEADER.offerThroughput, header(HEADER.offerThroughput))
  return throughput === undefined ? undefined : { throughput: checkedUnits(throughput) }
}

/**
 * The offer that a client replaces another one with.
 *
 * @throws ERR_BAD_REQUEST
 */
export function offerOfContent(content: unknown): Offer {
  if (!isJsonRecord(content)) throw new BadRequestError('an offer needs a "content"')
  const { offerAutopilotSettings, offerThroughput } = content
  if (isJsonRecord(offerAutopilotSettings)) return autoscaleOffer(offerAutopilotSettings)
  return { throughput: checkedUnits(offerThroughput) }
}

/** How many pkranges a container with this offer has at least. */
export function rangesOfOffer({ throughput, maxThroughput }: Offer): number {
  return Math.ceil((maxThroughput ?? throughput) / UNITS_PER_RANGE)
}

/** Lower case, because the protocol signs offers by their id in lower case. */
export function offerId(rid: string): string {
  return ridBytes(rid).toString('hex')
}

/** Whether an offer of a database or a container could have it. */
export function isOfferId(id: string): boolean {
  return /^(?:[\da-f]{8}){1,2}$/.test(id)
}

/** What is answered of an offer; `resource` is the `_self` of what it belongs to. */
export function offerBody(
  { rid, etag, ts, resource }: OfferOwner,
  { throughput, maxThroughput }: Offer,
): JsonRecord {
  const id = offerId(rid)
  return {
    id,
    _rid: id,
    _self: `offers/${id}/`,
    _etag: etag,
    _ts: ts,
    resource,
    offerResourceId: rid,
    offerType: 'Invalid',
    offerVersion: 'V2',
    content: {
      offerThroughput: throughput,
      ...(maxThroughput !== undefined && { offerAutopilotSettings: { maxThroughput } }),
    },
  }
}

function autoscaleOffer(settings: unknown): Offer {
  const maxThroughput = checkedUnits(isJsonRecord(settings) ? settings['maxThroughput'] : undefined)
  return {
    throughput: Math.max(LEAST_UNITS, Math.floor(maxThroughput / AUTOSCALE_SHARE)),
    maxThroughput,
  }
}

function checkedUnits(units: unknown): number {
  const isInBounds = typeof units === 'number' && units >= LEAST_UNITS && units <= MOST_UNITS
  if (isInBounds && units % UNIT_STEP === 0) return units
  throw new BadRequestError(
    `throughput must be from ${LEAST_UNITS} to ${MOST_UNITS} and a multiple of ${UNIT_STEP}, got ${typeof units === 'number' ? units : typeof units}`,
  )
}
